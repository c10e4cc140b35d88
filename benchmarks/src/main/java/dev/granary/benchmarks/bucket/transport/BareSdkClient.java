package dev.granary.benchmarks.bucket.transport;

import dev.granary.s3.config.AwsEnvironment;
import dev.granary.s3.store.ConnectionSettings;

import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.awscore.client.builder.AwsClientBuilder;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.checksums.RequestChecksumCalculation;
import software.amazon.awssdk.core.checksums.ResponseChecksumValidation;
import software.amazon.awssdk.core.client.config.ClientOverrideConfiguration;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.apache5.Apache5HttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3AsyncClientBuilder;
import software.amazon.awssdk.services.s3.S3BaseClientBuilder;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3Configuration;

import java.time.Duration;

/** Clients of the AWS SDK with the settings of the bucket tier, without its layers. */
public final class BareSdkClient {
    private BareSdkClient() {}

    /** Returns the HTTP client that the bucket tier uses. */
    public static SdkHttpClient.Builder<?> apache(ConnectionSettings connection) {
        return Apache5HttpClient.builder()
                .maxConnections(connection.maxConnections())
                .connectionTimeout(connection.connectTimeout())
                .connectionAcquisitionTimeout(connection.requestTimeout())
                .socketTimeout(connection.requestTimeout())
                .connectionMaxIdleTime(Duration.ofSeconds(30));
    }

    public static S3Client open(ConnectionSettings connection, SdkHttpClient.Builder<?> http) {
        return settings(S3Client.builder(), connection).httpClientBuilder(http).build();
    }

    /** Returns the builder of the asynchronous client, without an HTTP client. */
    static S3AsyncClientBuilder async(ConnectionSettings connection) {
        return settings(S3AsyncClient.builder(), connection);
    }

    static AwsCredentialsProvider credentials(ConnectionSettings connection) {
        return AwsEnvironment.credentials(connection);
    }

    static Region region(ConnectionSettings connection) {
        return AwsEnvironment.region(connection);
    }

    private static <B extends S3BaseClientBuilder<B, C> & AwsClientBuilder<B, C>, C> B settings(
            B builder, ConnectionSettings connection) {
        connection.endpoint().ifPresent(builder::endpointOverride);
        return builder.region(region(connection))
                .credentialsProvider(credentials(connection))
                .overrideConfiguration(ClientOverrideConfiguration.builder()
                        .retryStrategy(AwsRetryStrategy.doNotRetry())
                        .apiCallTimeout(connection.requestTimeout())
                        .apiCallAttemptTimeout(connection.requestTimeout())
                        .build())
                .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
                .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED)
                .serviceConfiguration(S3Configuration.builder()
                        .chunkedEncodingEnabled(false)
                        .pathStyleAccessEnabled(connection.endpoint().isPresent())
                        .build());
    }
}
