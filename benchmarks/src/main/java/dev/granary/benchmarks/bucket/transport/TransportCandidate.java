package dev.granary.benchmarks.bucket.transport;

import dev.granary.s3.config.S3Config;
import dev.granary.s3.minio.MinioTransport;
import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.TrafficCounter;

import software.amazon.awssdk.core.checksums.RequestChecksumCalculation;
import software.amazon.awssdk.core.checksums.ResponseChecksumValidation;
import software.amazon.awssdk.http.crt.AwsCrtAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.services.s3.S3AsyncClient;

import java.net.URI;

/** A client library that reads objects, with the settings of the tier as far as it has them. */
public enum TransportCandidate {
    /** The AWS SDK over the JDK's URL connection. */
    URL_CONNECTION("URL connection") {
        @Override
        ObjectReader open(ConnectionSettings connection) {
            return new BlockingReader(
                    BareSdkClient.open(
                            connection,
                            UrlConnectionHttpClient.builder()
                                    .connectionTimeout(connection.connectTimeout())
                                    .socketTimeout(connection.requestTimeout())),
                    connection.bucket());
        }
    },
    /** The AWS SDK over Apache HTTP 5. */
    APACHE_5("Apache 5") {
        @Override
        ObjectReader open(ConnectionSettings connection) {
            return new BlockingReader(
                    BareSdkClient.open(connection, BareSdkClient.apache(connection)),
                    connection.bucket());
        }
    },
    /** The asynchronous AWS SDK over Netty. */
    NETTY("Netty") {
        @Override
        ObjectReader open(ConnectionSettings connection) {
            return new AsyncSdkReader(
                    BareSdkClient.async(connection)
                            .httpClientBuilder(NettyNioAsyncHttpClient.builder()
                                    .maxConcurrency(connection.maxConnections())
                                    .connectionTimeout(connection.connectTimeout())
                                    .connectionAcquisitionTimeout(connection.requestTimeout()))
                            .build(),
                    connection.bucket());
        }
    },
    /** The asynchronous AWS SDK over the native HTTP client of Amazon's common runtime. */
    CRT("CRT") {
        @Override
        ObjectReader open(ConnectionSettings connection) {
            return new AsyncSdkReader(
                    BareSdkClient.async(connection)
                            .httpClientBuilder(AwsCrtAsyncHttpClient.builder()
                                    .maxConcurrency(connection.maxConnections())
                                    .connectionTimeout(connection.connectTimeout()))
                            .build(),
                    connection.bucket());
        }
    },
    /** The native S3 client of Amazon's common runtime, which reads larger objects in parts. */
    S3_CRT("S3 CRT") {
        @Override
        ObjectReader open(ConnectionSettings connection) {
            return new AsyncSdkReader(
                    S3AsyncClient.crtBuilder()
                            .region(BareSdkClient.region(connection))
                            .endpointOverride(connection.endpoint().orElseThrow())
                            .credentialsProvider(BareSdkClient.credentials(connection))
                            .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
                            .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED)
                            .forcePathStyle(true)
                            .maxConcurrency(connection.maxConnections())
                            .build(),
                    connection.bucket());
        }
    },
    /** The MinIO client, with the settings of the bucket tier. */
    MINIO("MinIO") {
        @Override
        ObjectReader open(ConnectionSettings connection) {
            return new StoreReader(MinioTransport.open(connection, new TrafficCounter()));
        }
    };

    private final String label;

    TransportCandidate(String label) {
        this.label = label;
    }

    /** Returns the name on the terminal. */
    public String label() {
        return label;
    }

    /** Creates the client; sends no request. */
    abstract ObjectReader open(ConnectionSettings connection);

    /**
     * Returns the server that {@code endpoint} denotes, with the credentials and the region of the
     * environment.
     */
    static ConnectionSettings connection(String endpoint, String bucket) {
        return S3Config.builder(bucket)
                .endpoint(URI.create(endpoint))
                .region(System.getenv("AWS_REGION"))
                .credentials(
                        System.getenv("AWS_ACCESS_KEY_ID"), System.getenv("AWS_SECRET_ACCESS_KEY"))
                .build()
                .connection();
    }
}
