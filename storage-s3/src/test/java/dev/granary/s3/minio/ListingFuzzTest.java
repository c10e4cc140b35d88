package dev.granary.s3.minio;

import dev.granary.s3.ListingFuzz;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.TrafficCounter;

import okhttp3.Dispatcher;
import okhttp3.Interceptor;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Response;
import okhttp3.ResponseBody;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.net.URI;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Fuzz test of listings through the MinIO client as configured, without a socket; in the calling
 * thread, whose memory is measured.
 */
class ListingFuzzTest {
    private static final MediaType XML = MediaType.get("application/xml");

    private byte[] body = {};

    @Test
    @DisplayName("Fuzz: a listing is complete or unavailable, and every object has a key")
    void listing() {
        var connection = S3Config.builder("bucket")
                .endpoint(URI.create("http://127.0.0.1:9"))
                .credentials("key", "secret")
                .build()
                .connection();
        try (ObjectStore store =
                MinioTransport.open(connection, new TrafficCounter(), this::withoutSocket)) {
            ListingFuzz.run(
                    "listing MinIO, no socket", bytes -> body = bytes, store, ListingFuzz.runs());
        }
    }

    /** Moves network interceptors to the application level, since there is no network. */
    private OkHttpClient.Builder withoutSocket(OkHttpClient.Builder usual) {
        List<Interceptor> wire = List.copyOf(usual.networkInterceptors());
        usual.networkInterceptors().clear();
        usual.interceptors().addAll(wire);
        return usual.dispatcher(new Dispatcher(new InCaller()))
                .addInterceptor(chain -> new Response.Builder()
                        .request(chain.request())
                        .protocol(Protocol.HTTP_1_1)
                        .code(200)
                        .message("OK")
                        .body(ResponseBody.create(body, XML))
                        .build());
    }

    /** Runs each task in the submitting thread. */
    private static final class InCaller extends AbstractExecutorService {
        private volatile boolean isShutdown;

        @Override
        public void execute(Runnable task) {
            task.run();
        }

        @Override
        public void shutdown() {
            isShutdown = true;
        }

        @Override
        public List<Runnable> shutdownNow() {
            shutdown();
            return List.of();
        }

        @Override
        public boolean isShutdown() {
            return isShutdown;
        }

        @Override
        public boolean isTerminated() {
            return isShutdown;
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) {
            return isShutdown;
        }
    }
}
