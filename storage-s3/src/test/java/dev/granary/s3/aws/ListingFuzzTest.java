package dev.granary.s3.aws;

import dev.granary.s3.ListingFuzz;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.TrafficCounter;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.HttpExecuteResponse;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.SdkHttpResponse;

import java.io.ByteArrayInputStream;
import java.net.URI;

/** Fuzz test of listings through the AWS SDK as configured, without a socket. */
class ListingFuzzTest {
    @Test
    @DisplayName("Fuzz: a listing is complete or unavailable, and every object has a key")
    void listing() {
        Server server = new Server();
        var connection = S3Config.builder("bucket")
                .endpoint(URI.create("http://127.0.0.1:9"))
                .credentials("key", "secret")
                .build()
                .connection();
        try (ObjectStore store = AwsTransport.open(connection, new TrafficCounter(), _ -> server)) {
            ListingFuzz.run(
                    "listing AWS, no socket",
                    body -> server.body = body,
                    store,
                    ListingFuzz.runs());
        }
    }

    /** A client that responds by itself. */
    private static final class Server implements SdkHttpClient, ExecutableHttpRequest {
        private byte[] body = {};

        @Override
        public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
            return this;
        }

        @Override
        public HttpExecuteResponse call() {
            return HttpExecuteResponse.builder()
                    .response(SdkHttpResponse.builder()
                            .statusCode(200)
                            .putHeader("Content-Type", "application/xml")
                            .putHeader("Content-Length", Integer.toString(body.length))
                            .build())
                    .responseBody(AbortableInputStream.create(new ByteArrayInputStream(body)))
                    .build();
        }

        @Override
        public void abort() {
            // nothing is in progress
        }

        @Override
        public void close() {
            // nothing is open
        }
    }
}
