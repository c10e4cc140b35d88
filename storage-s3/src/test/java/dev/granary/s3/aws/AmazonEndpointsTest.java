package dev.granary.s3.aws;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.granary.s3.config.S3Config;
import dev.granary.s3.store.ConnectionOption;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.TrafficCounter;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.HttpExecuteResponse;
import software.amazon.awssdk.http.SdkHttpClient;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Addresses of requests through the AWS SDK as configured, without a socket. */
class AmazonEndpointsTest {
    private static String address(Optional<URI> endpoint, Map<ConnectionOption, String> options) {
        Recorder recorder = new Recorder();
        var config = S3Config.builder("bucket")
                .region("eu-central-1")
                .options(options)
                .credentials("key", "secret");
        endpoint.ifPresent(config::endpoint);
        TrafficCounter traffic = new TrafficCounter();
        try (ObjectStore store =
                AwsTransport.open(config.build().connection(), traffic, _ -> recorder)) {
            store.prepare();
            assertInstanceOf(GetResult.Absent.class, store.get(RehearsalHttpClient.KEY, 0));
            assertEquals(List.of(), recorder.addresses, "a rehearsal sends nothing");
            assertEquals(0, traffic.received());
            GetResult _ = store.get("key", 100);
        }
        return recorder.addresses.getFirst();
    }

    @Test
    @DisplayName("dual-stack= and fips= choose Amazon's hosts, path-style= the place of the bucket")
    void addresses() {
        Map<Map<ConnectionOption, String>, String> amazon = Map.of(
                Map.of(),
                "https://bucket.s3.eu-central-1.amazonaws.com/key",
                Map.of(ConnectionOption.DUAL_STACK, "true"),
                "https://bucket.s3.dualstack.eu-central-1.amazonaws.com/key",
                Map.of(ConnectionOption.FIPS, "true"),
                "https://bucket.s3-fips.eu-central-1.amazonaws.com/key",
                Map.of(ConnectionOption.FIPS, "true", ConnectionOption.DUAL_STACK, "true"),
                "https://bucket.s3-fips.dualstack.eu-central-1.amazonaws.com/key",
                Map.of(ConnectionOption.FIPS, "false", ConnectionOption.DUAL_STACK, "false"),
                "https://bucket.s3.eu-central-1.amazonaws.com/key",
                Map.of(ConnectionOption.PATH_STYLE, "true"),
                "https://s3.eu-central-1.amazonaws.com/bucket/key");
        amazon.forEach((options, expected) ->
                assertEquals(expected, address(Optional.empty(), options), options::toString));
        Optional<URI> own = Optional.of(URI.create("http://s3.example.com:9000"));
        assertEquals("http://s3.example.com:9000/bucket/key", address(own, Map.of()));
        assertEquals(
                "http://bucket.s3.example.com:9000/key",
                address(own, Map.of(ConnectionOption.PATH_STYLE, "false")));
    }

    /** A client that keeps the address of each request, and fails. */
    private static final class Recorder implements SdkHttpClient, ExecutableHttpRequest {
        private final List<String> addresses = new ArrayList<>();

        @Override
        public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
            addresses.add(request.httpRequest().getUri().toString());
            return this;
        }

        @Override
        public HttpExecuteResponse call() throws IOException {
            throw new IOException("no network");
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
