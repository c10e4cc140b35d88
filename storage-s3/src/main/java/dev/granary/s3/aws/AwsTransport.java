package dev.granary.s3.aws;

import dev.granary.s3.config.AwsEnvironment;
import dev.granary.s3.config.NetworkSettings;
import dev.granary.s3.store.ConnectionOption;
import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.TrafficCounter;

import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.checksums.RequestChecksumCalculation;
import software.amazon.awssdk.core.checksums.ResponseChecksumValidation;
import software.amazon.awssdk.core.client.config.ClientOverrideConfiguration;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.apache5.Apache5HttpClient;
import software.amazon.awssdk.http.apache5.ProxyConfiguration;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;

import java.net.URI;
import java.time.Duration;
import java.util.function.Function;

import javax.net.ssl.TrustManager;

/**
 * Factory of the object store on the AWS SDK: its synchronous client over Apache HTTP 5.
 *
 * <p>The socket timeout ends a request to a silent server. The SDK's deadline covers the whole
 * request, and ends one to a server that does not read a body, or that drips single bytes.
 *
 * <p>The settings are those that every server accepted: bodies without aws-chunked framing,
 * checksums only if S3 requires them, no retries by the SDK. See
 * {@code docs/decisions/0003-object-store-transports.md}.
 */
public final class AwsTransport {
    private AwsTransport() {}

    /**
     * Creates the client without a request to the bucket; {@code traffic} counts the bytes that it
     * receives. The region may come from the environment, on an Amazon machine from its metadata
     * service.
     *
     * @throws IllegalStateException if there is no region; the message states the remedy
     */
    public static ObjectStore open(ConnectionSettings connection, TrafficCounter traffic) {
        return open(
                connection,
                traffic,
                region -> httpClient(connection, NetworkSettings.of(connection, region)));
    }

    private static SdkHttpClient httpClient(
            ConnectionSettings connection, NetworkSettings network) {
        Apache5HttpClient.Builder http = Apache5HttpClient.builder()
                .maxConnections(connection.maxConnections())
                .connectionTimeout(connection.connectTimeout())
                .connectionAcquisitionTimeout(connection.requestTimeout())
                .socketTimeout(connection.stallTimeout())
                .connectionMaxIdleTime(Duration.ofSeconds(30))
                .proxyConfiguration(proxy(network));
        network.trust()
                .ifPresent(
                        trust -> http.tlsTrustManagersProvider(() -> new TrustManager[] {trust}));
        if (connection.endpoint().map(URI::getScheme).filter("http"::equals).isPresent()) {
            // without TLS; the 140 certificates of the JVM cost a new process 0.1 s
            http.tlsTrustManagersProvider(() -> new TrustManager[0]);
        }
        return http.build();
    }

    /** The library's own search would use {@code HTTP_PROXY} for https servers. */
    private static ProxyConfiguration proxy(NetworkSettings network) {
        ProxyConfiguration.Builder configuration = ProxyConfiguration.builder()
                .useSystemPropertyValues(false)
                .useEnvironmentVariableValues(false);
        network.proxy().ifPresent(proxy -> {
            configuration.endpoint(URI.create(proxy.toString()));
            if (!proxy.user().isEmpty()) {
                configuration
                        .username(proxy.user())
                        .password(proxy.password())
                        .preemptiveBasicAuthenticationEnabled(true);
            }
        });
        return configuration.build();
    }

    /**
     * As {@link #open(ConnectionSettings, TrafficCounter)}, over an HTTP client that
     * {@code httpClient} creates and the store closes.
     */
    static ObjectStore open(
            ConnectionSettings connection,
            TrafficCounter traffic,
            Function<Region, SdkHttpClient> httpClient) {
        Region region = AwsEnvironment.region(connection);
        SdkHttpClient http = new RehearsalHttpClient(httpClient.apply(region));
        AwsCredentialsProvider credentials = AwsEnvironment.credentials(connection);
        var builder = S3Client.builder()
                .region(region)
                .credentialsProvider(credentials)
                .httpClient(http)
                .overrideConfiguration(ClientOverrideConfiguration.builder()
                        .retryStrategy(AwsRetryStrategy.doNotRetry())
                        .addExecutionInterceptor(new ResponseSizeInterceptor(traffic))
                        .apiCallTimeout(connection.requestTimeout())
                        .apiCallAttemptTimeout(connection.requestTimeout())
                        .build())
                .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
                .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED)
                .serviceConfiguration(s3 -> s3.chunkedEncodingEnabled(false)
                        .pathStyleAccessEnabled(connection
                                .option(ConnectionOption.PATH_STYLE)
                                .map(Boolean::valueOf)
                                .orElse(connection.endpoint().isPresent())));
        connection
                .option(ConnectionOption.DUAL_STACK)
                .map(Boolean::valueOf)
                .ifPresent(builder::dualstackEnabled);
        connection
                .option(ConnectionOption.FIPS)
                .map(Boolean::valueOf)
                .ifPresent(builder::fipsEnabled);
        connection.endpoint().ifPresent(builder::endpointOverride);
        return new AwsStore(builder.build(), http, credentials, connection);
    }
}
