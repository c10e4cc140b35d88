package dev.granary.s3;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Deviation;
import dev.granary.s3.contract.ObjectStoreContract;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.TrafficCounter;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;

/** The contract of object stores for a transport and a server. */
abstract class TransportContract extends ObjectStoreContract {
    private final TestS3 server;
    private final S3ClientLibrary client;
    private final S3Config config;

    TransportContract(TestS3 server, S3ClientLibrary client) {
        this.server = server;
        this.client = client;
        this.config = server.config().client(client).build();
    }

    @Override
    protected Set<Deviation> deviations() {
        return server.deviations();
    }

    @Override
    protected ObjectStore openStore() {
        return ObjectStoreFactory.open(config);
    }

    @Override
    protected ObjectStore openUnknownBucket() {
        return ObjectStoreFactory.open(server.config("granary-none-" + UUID.randomUUID())
                .client(client)
                .build());
    }

    @Override
    protected ObjectStore openWithWrongCredentials() {
        return ObjectStoreFactory.open(server.config()
                .client(client)
                .credentials("nobody", "knows-this-secret")
                .build());
    }

    @Test
    @DisplayName("a HEAD response without a length is a failure that names the header")
    void headWithoutLength() throws IOException {
        try (RawHttpServer raw = new RawHttpServer();
                ObjectStore store = ObjectStoreFactory.open(S3Config.builder("bucket")
                        .endpoint(raw.endpoint())
                        .client(client)
                        .credentials("key", "secret")
                        .build())) {
            raw.reply(out -> {
                out.write("HTTP/1.1 200 OK\r\nETag: \"e\"\r\nConnection: close\r\n\r\n"
                        .getBytes(ISO_8859_1));
                out.flush();
            });
            StoreFailure failure = assertThat(store.head("key")).isUnavailable();
            assertEquals(StoreFailure.Kind.BROKEN, failure.kind());
            assertTrue(failure.message().contains("Content-Length"), failure::toString);
        }
    }

    @Test
    @DisplayName("a read of a known version that has not changed transfers no body")
    void unchanged() {
        TrafficCounter traffic = new TrafficCounter();
        String key = prefix() + "unchanged-" + UUID.randomUUID();
        try (ObjectStore store = ObjectStoreFactory.open(config, traffic)) {
            String etag = assertThat(store.put(key, new byte[1 << 20])).isDone();
            assertEquals(Optional.empty(), store.getIfChanged(key, etag, 2 << 20));
            assertTrue(traffic.received() < 1 << 20, () -> traffic.received() + " bytes");
        }
    }

    @Test
    @DisplayName("304 to a read of a known version is no failure and one request, as is 200 of a"
            + " server that ignores the condition")
    void notModified() throws IOException {
        try (RawHttpServer raw = new RawHttpServer();
                ObjectStore store = ObjectStoreFactory.open(S3Config.builder("bucket")
                        .endpoint(raw.endpoint())
                        .client(client)
                        .credentials("key", "secret")
                        .build())) {
            AtomicInteger requests = new AtomicInteger();
            for (String response : List.of(
                    "HTTP/1.1 304 Not Modified\r\nETag: \"e\"\r\nConnection: close\r\n\r\n",
                    "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 2\r\nConnection: close\r\n"
                            + "\r\nab")) {
                raw.reply(out -> {
                    requests.incrementAndGet();
                    out.write(response.getBytes(ISO_8859_1));
                    out.flush();
                });
                assertEquals(Optional.empty(), store.getIfChanged("key", "e", 100), response);
            }
            assertEquals(3, requests.get());
        }
    }

    @Override
    protected String prefix() {
        return config.location().prefix() + "/";
    }
}
