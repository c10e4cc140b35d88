package dev.granary.s3.aws;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.store.StallDetector;
import dev.granary.s3.store.TrafficCounter;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.HttpExecuteResponse;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.SdkHttpResponse;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;

/** Tests of bodies that are not read to their end. */
class WatchedHttpClientTest {
    private static final int READ = 1000;
    private static final int MAX_REST = 4 << 10;
    private static final int LENGTH = 1 << 20;

    private final TrafficCounter traffic = new TrafficCounter();

    /** A client whose responses have a body of a given length. */
    private static final class Wire implements SdkHttpClient, ExecutableHttpRequest {
        private final ByteArrayInputStream body;
        private boolean isClosed;
        private boolean isAborted;

        Wire(int length) {
            body = new ByteArrayInputStream(new byte[length]) {
                @Override
                public void close() {
                    isClosed = true;
                }
            };
        }

        @Override
        public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
            return this;
        }

        @Override
        public HttpExecuteResponse call() {
            return HttpExecuteResponse.builder()
                    .response(SdkHttpResponse.builder().statusCode(200).build())
                    .responseBody(AbortableInputStream.create(body, () -> isAborted = true))
                    .build();
        }

        @Override
        public void abort() {
            isAborted = true;
        }

        @Override
        public void close() {
            // nothing is open
        }
    }

    /** Reads the first bytes of a body of that length and closes it. */
    private Wire closedEarly(int length) throws IOException {
        Wire wire = new Wire(length);
        SdkHttpRequest get = SdkHttpRequest.builder()
                .method(SdkHttpMethod.GET)
                .uri(URI.create("http://127.0.0.1:9/key"))
                .build();
        try (SdkHttpClient client =
                new WatchedHttpClient(wire, new StallDetector(Duration.ofHours(1), traffic))) {
            HttpExecuteResponse answer = client.prepareRequest(
                            HttpExecuteRequest.builder().request(get).build())
                    .call();
            AbortableInputStream body = answer.responseBody().orElseThrow();
            assertEquals(READ, body.readNBytes(READ).length);
            body.close();
        }
        assertEquals(Duration.ZERO, traffic.quiet());
        return wire;
    }

    @Test
    @DisplayName(
            "S5 A9 closing a body reads a short rest, to reuse the connection, and aborts a long"
                    + " one")
    void shortAndLongRest() throws IOException {
        for (int shortRest : new int[] {0, 1, MAX_REST - 1}) {
            Wire reused = closedEarly(READ + shortRest);
            assertTrue(reused.isClosed && !reused.isAborted, "a rest of " + shortRest);
            assertEquals(0, reused.body.available());
        }
        Wire left = closedEarly(LENGTH);
        assertTrue(left.isAborted && !left.isClosed);
        assertEquals(LENGTH - READ - MAX_REST, left.body.available());
    }
}
