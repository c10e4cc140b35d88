package dev.granary.s3.minio;

import dev.granary.s3.config.AwsEnvironment;
import dev.granary.s3.config.NetworkSettings;
import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.TrafficCounter;

import io.minio.MinioAsyncClient;
import io.minio.MinioClient;
import io.minio.credentials.Credentials;
import io.minio.credentials.Provider;

import okhttp3.ConnectionPool;
import okhttp3.Dispatcher;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.Response;

import org.jspecify.annotations.Nullable;

import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.regions.Region;

import java.io.IOException;
import java.net.Proxy;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.UnaryOperator;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

/**
 * Factory of the object store on the MinIO client.
 *
 * <p>Its retries of 5xx responses are off, as are OkHttp's of broken connections: only the caller
 * can decide whether a write may be retried. Credentials and region come from the same sources as
 * the AWS SDK's.
 */
public final class MinioTransport {
    private static final String AMAZON = "https://s3.amazonaws.com";

    private MinioTransport() {}

    /**
     * Creates the client without a request; {@code traffic} counts the bytes that it receives.
     *
     * @throws IllegalStateException if there is no region; the message states the remedy
     */
    public static ObjectStore open(ConnectionSettings connection, TrafficCounter traffic) {
        return open(connection, traffic, UnaryOperator.identity());
    }

    /**
     * As {@link #open(ConnectionSettings, TrafficCounter)}, with the HTTP client that
     * {@code customizer} derives from the default one.
     */
    static ObjectStore open(
            ConnectionSettings connection,
            TrafficCounter traffic,
            UnaryOperator<OkHttpClient.Builder> customizer) {
        Dispatcher dispatcher = new Dispatcher();
        dispatcher.setMaxRequests(connection.maxConnections());
        dispatcher.setMaxRequestsPerHost(connection.maxConnections());
        Region region = AwsEnvironment.region(connection);
        OkHttpClient http = customizer
                .apply(connected(NetworkSettings.of(connection, region))
                        .socketFactory(new NoDelaySocketFactory())
                        .dispatcher(dispatcher)
                        .connectionPool(new ConnectionPool(
                                connection.maxConnections(), 30, TimeUnit.SECONDS))
                        .connectTimeout(connection.connectTimeout())
                        .callTimeout(connection.requestTimeout())
                        .readTimeout(connection.stallTimeout())
                        .writeTimeout(connection.stallTimeout())
                        .addInterceptor(new MissingHeaderInterceptor())
                        .addNetworkInterceptor(new ChunkedHeadInterceptor())
                        .addNetworkInterceptor(new ResponseSizeInterceptor(traffic))
                        .retryOnConnectionFailure(false)
                        .followRedirects(false)
                        .addNetworkInterceptor(MinioTransport::withoutRetryAfter))
                .build();
        AwsCredentialsProvider credentials = AwsEnvironment.credentials(connection);
        // without a provider the client does not sign
        @Nullable
        SdkProvider signing = connection.isAnonymous() ? null : new SdkProvider(credentials);
        String endpoint = connection.endpoint().map(Object::toString).orElse(AMAZON);
        MinioAsyncClient listClient = MinioAsyncClient.builder()
                .endpoint(endpoint)
                .region(region.id()) // otherwise the client requests it from the server first
                .credentialsProvider(signing)
                .httpClient(http)
                .build();
        listClient.setRetry(Set.of(), 0L, 0);
        // OkHttp's limit of a call belongs to the client; connections are shared
        Function<Duration, MinioClient> clients = callTimeout -> {
            MinioClient client = MinioClient.builder()
                    .endpoint(endpoint)
                    .region(region.id())
                    .credentialsProvider(signing)
                    .httpClient(http.newBuilder().callTimeout(callTimeout).build())
                    .build();
            client.setRetry(Set.of(), 0L, 0);
            return client;
        };
        return new MinioStore(clients, listClient, http, credentials, connection);
    }

    /** Returns a builder with the proxy and the trusted certificates. */
    private static OkHttpClient.Builder connected(NetworkSettings network) {
        OkHttpClient.Builder http = new OkHttpClient.Builder().proxy(Proxy.NO_PROXY);
        network.proxy().ifPresent(proxy -> {
            http.proxy(new Proxy(Proxy.Type.HTTP, proxy.address()));
            if (!proxy.user().isEmpty()) {
                String basic = okhttp3.Credentials.basic(proxy.user(), proxy.password());
                http.proxyAuthenticator((_, response) ->
                        basic.equals(response.request().header("Proxy-Authorization"))
                                ? null // refused
                                : response.request()
                                        .newBuilder()
                                        .header("Proxy-Authorization", basic)
                                        .build());
            }
        });
        network.trust().ifPresent(trust -> http.sslSocketFactory(sockets(trust), trust));
        return http;
    }

    private static SSLSocketFactory sockets(X509TrustManager trust) {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, new TrustManager[] {trust}, null);
            return context.getSocketFactory();
        } catch (GeneralSecurityException e) { // each JVM has TLS
            throw new IllegalStateException(e);
        }
    }

    /**
     * Removes {@code Retry-After} from a response: OkHttp retries a 503 with {@code Retry-After: 0}
     * by itself.
     */
    private static Response withoutRetryAfter(Interceptor.Chain chain) throws IOException {
        return chain.proceed(chain.request())
                .newBuilder()
                .removeHeader("Retry-After")
                .build();
    }

    /**
     * Credentials of the AWS SDK in the MinIO client's form; the SDK's chain caches and renews
     * them.
     */
    private record SdkProvider(AwsCredentialsProvider provider) implements Provider {
        @Override
        public Credentials fetch() {
            AwsCredentials credentials = provider.resolveCredentials();
            String token = credentials instanceof AwsSessionCredentials session
                    ? session.sessionToken()
                    : null;
            return new Credentials(
                    credentials.accessKeyId(), credentials.secretAccessKey(), token, null);
        }
    }
}
