package dev.granary.coordinator.publish;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.format.EntrySignature;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.KeyTexts;
import dev.granary.coordinator.statistics.PrimitiveSource;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Tests of what a process with a signing key signs: what it has compiled itself. */
class SigningTest {
    private static final FakeDescriptor KERNEL = FakeDescriptor.of("k");

    private final FakeBucket bucket = new FakeBucket();
    private final FakeEngine engine = new FakeEngine("one");
    private final Path directory;

    SigningTest(@TempDir Path directory) {
        this.directory = directory;
    }

    private TestNode node(String name) {
        return new TestNode(directory.resolve(name), bucket);
    }

    private Granary unsigned(TestNode node) throws Exception {
        return TestNode.over(node.config().bucket("s3://test").build(), bucket);
    }

    private Granary signing(TestNode node) throws Exception {
        GranaryConfig config = node.config()
                .bucket("s3://test")
                .signingKey(KeyTexts.create("ci").privateKey())
                .build();
        return TestNode.over(config, bucket);
    }

    private Optional<String> signer() {
        List<Entry> stored = List.copyOf(bucket.entries.values());
        assertEquals(1, stored.size());
        return EntrySignature.of(stored.getFirst()).map(EntrySignature::keyName);
    }

    private PrimitiveSource lookup(Granary granary) throws Exception {
        PrimitiveSource source = granary.lookup(engine, KERNEL).source();
        assertTrue(granary.flush(TestNode.LONG));
        return source;
    }

    @Test
    @DisplayName("what it compiles is signed, in the bucket and on disk")
    void compiled() throws Exception {
        TestNode node = node("ci");
        try (Granary granary = signing(node)) {
            assertEquals(PrimitiveSource.COMPILED, lookup(granary));
        }
        assertEquals(Optional.of("ci"), signer());
        bucket.entries.clear();
        try (Granary granary = unsigned(node)) {
            assertEquals(PrimitiveSource.LOCAL, lookup(granary));
            assertTrue(granary.publish(KERNEL.getId()));
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(Optional.of("ci"), signer(), "published from the disk by another process");
    }

    @Test
    @DisplayName("what another process has compiled stays unsigned: found on disk or in the bucket,"
            + " or left to be uploaded")
    void ofOthers() throws Exception {
        TestNode node = node("runner");
        bucket.behavior = FakeBucket.Behavior.HANGS;
        try (Granary granary = TestNode.over(
                node.config().bucket("s3://test").flushLimit(Duration.ZERO).build(), bucket)) {
            granary.lookup(engine, KERNEL);
            granary.flush(Duration.ofMillis(200));
        }
        bucket.behavior = FakeBucket.Behavior.WORKS;
        try (Granary granary = signing(node)) {
            assertEquals(PrimitiveSource.LOCAL, lookup(granary));
            assertTrue(granary.publish(KERNEL.getId()));
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(Optional.empty(), signer());
    }

    @Test
    @DisplayName("what the driver compiles again from a foreign entry stays unsigned")
    void recompiled() throws Exception {
        try (Granary granary = unsigned(node("other"))) {
            lookup(granary);
        }
        engine.restoreBehavior = FakeEngine.RestoreBehavior.RECOMPILES;
        TestNode node = node("ci");
        try (Granary granary = signing(node)) {
            lookup(granary);
        }
        bucket.entries.clear();
        try (Granary granary = unsigned(node)) {
            assertTrue(granary.publish(KERNEL.getId()));
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(Optional.empty(), signer());
    }
}
