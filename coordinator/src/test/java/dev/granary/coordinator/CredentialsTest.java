package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.config.BucketCredentials;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** Tests of credentials that the application supplies, on a real server. */
class CredentialsTest {
    private final FakeEngine engine = new FakeEngine("one");
    private final EmbeddedS3 server;
    private final Path directory;

    CredentialsTest(@TempDir Path directory) throws IOException {
        this.directory = directory;
        this.server = EmbeddedS3.start(null);
        server.createBucket("kernels");
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private GranaryConfig config(
            String machine, String client, Supplier<BucketCredentials> credentials)
            throws Exception {
        return new TestNode(directory.resolve(machine), new FakeBucket())
                .config()
                .bucket("s3://kernels")
                .endpoint(server.endpoint().toString())
                .client(client)
                .bucketWait(TestNode.LONG)
                .flushLimit(TestNode.LONG)
                .credentials(credentials)
                .build();
    }

    private BucketCredentials credentials(String suffix) {
        return new BucketCredentials(
                server.accessKey(), server.secretKey() + suffix, Optional.empty());
    }

    @ParameterizedTest
    @ValueSource(strings = {"aws", "minio"})
    @DisplayName(
            "The credentials of the application sign the requests; wrong ones and a source that"
                    + " throws are failed requests")
    void supplied(String client) throws Exception {
        FakeDescriptor a = FakeDescriptor.of("a");
        AtomicInteger calls = new AtomicInteger();
        try (Granary granary = Granary.open(config("one", client, () -> {
            calls.incrementAndGet();
            return credentials("");
        }))) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, a).source());
        }
        assertTrue(calls.get() > 0);
        try (Granary granary = Granary.open(config("two", client, () -> credentials("")))) {
            assertEquals(PrimitiveSource.BUCKET, granary.lookup(engine, a).source());
        }
        for (Supplier<BucketCredentials> wrong :
                List.<Supplier<BucketCredentials>>of(() -> credentials("x"), () -> {
                    throw new IllegalStateException("the vault is sealed");
                })) {
            try (Granary granary = Granary.open(config("three", client, wrong))) {
                granary.setLocalCapacity(0);
                assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, a).source());
                String failure =
                        granary.statistics().layers().getFirst().failure().orElse("");
                assertFalse(failure.isEmpty());
                assertFalse(failure.contains(server.secretKey()), failure);
            }
        }
        assertFalse(credentials("").toString().contains(server.secretKey()));
    }
}
