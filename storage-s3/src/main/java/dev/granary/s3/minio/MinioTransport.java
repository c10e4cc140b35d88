package dev.granary.s3.minio;

import dev.granary.s3.store.BucketConnection;
import dev.granary.s3.store.ObjectStore;
import io.minio.MinioClient;
import io.minio.credentials.Credentials;
import io.minio.credentials.Provider;
import io.minio.credentials.StaticProvider;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import okhttp3.ConnectionPool;
import okhttp3.Dispatcher;
import okhttp3.OkHttpClient;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.identity.spi.AwsCredentialsIdentity;
import software.amazon.awssdk.identity.spi.AwsSessionCredentialsIdentity;
import software.amazon.awssdk.regions.providers.DefaultAwsRegionProviderChain;

/**
 * Makes the object store of the MinIO client. Its retries of 5xx answers are off, and OkHttp's of broken connections too: whether a write
 * may be sent again is for the caller to say. Credentials and region come from where the AWS SDK finds them.
 */
public final class MinioTransport {
    private static final String AMAZON = "https://s3.amazonaws.com";

    private MinioTransport() {}

    /**
     * Sets the client up, without a request.
     *
     * @throws IllegalStateException if there is no region, with what to do
     */
    public static ObjectStore open(BucketConnection connection) {
        Dispatcher dispatcher = new Dispatcher();
        dispatcher.setMaxRequests(connection.maxConnections());
        dispatcher.setMaxRequestsPerHost(connection.maxConnections());
        OkHttpClient http = new OkHttpClient.Builder()
                .socketFactory(new PromptSockets())
                .dispatcher(dispatcher)
                .connectionPool(new ConnectionPool(connection.maxConnections(), 30, TimeUnit.SECONDS))
                .connectTimeout(connection.connectTimeout())
                .callTimeout(connection.requestTimeout())
                .readTimeout(connection.requestTimeout())
                .writeTimeout(connection.requestTimeout())
                .retryOnConnectionFailure(false)
                .followRedirects(false)
                .build();
        MinioClient client = MinioClient.builder()
                .endpoint(connection.endpoint().map(Object::toString).orElse(AMAZON))
                .region(region(connection))
                .credentialsProvider(credentials(connection))
                .httpClient(http)
                .build();
        client.setRetry(Set.of(), 0L, 0);
        return new MinioStore(client, http, connection.bucket());
    }

    /** Always set: a client without one asks the server for it before the first request of each bucket. */
    private static String region(BucketConnection connection) {
        if (connection.region().isPresent()) {
            return connection.region().get();
        }
        if (connection.endpoint().isPresent()) {
            return BucketConnection.ENDPOINT_REGION;
        }
        try {
            return DefaultAwsRegionProviderChain.builder().build().getRegion().id();
        } catch (SdkClientException e) {
            throw new IllegalStateException("No region for bucket " + connection.bucket()
                    + ": set AWS_REGION or the region of the bucket, or an endpoint for a server that is not Amazon's", e);
        }
    }

    private static Provider credentials(BucketConnection connection) {
        return connection.credentials()
                .<Provider>map(known -> new StaticProvider(known.accessKey(), known.secretKey(), null))
                .orElseGet(() -> new ChainProvider(DefaultCredentialsProvider.builder().build()));
    }

    /** What the AWS SDK's usual chain finds, in the MinIO client's form; the chain renews and caches by itself. */
    private record ChainProvider(DefaultCredentialsProvider chain) implements Provider {
        @Override
        public Credentials fetch() {
            AwsCredentialsIdentity found = chain.resolveCredentials();
            return new Credentials(found.accessKeyId(), found.secretAccessKey(), token(found), null);
        }

        private static @Nullable String token(AwsCredentialsIdentity found) {
            return found instanceof AwsSessionCredentialsIdentity session ? session.sessionToken() : null;
        }
    }
}
