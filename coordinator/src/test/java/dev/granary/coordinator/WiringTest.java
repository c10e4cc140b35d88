package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.machine.Totals;
import dev.granary.coordinator.tier.Tiers;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Tests of opening and closing: a failure of one part closes all others. */
class WiringTest {
    private final Path directory;
    private final List<String> closed = new ArrayList<>();

    WiringTest(@TempDir Path home) {
        this.directory = home.resolve("granary");
    }

    /** A cache without entries that records its close, and may fail in it. */
    private final class Part implements PersistentCache {
        private final String name;
        private final Optional<Error> failure;

        Part(String name, Optional<Error> failure) {
            this.name = name;
            this.failure = failure;
        }

        @Override
        public LoadResult load(Id id) {
            return LoadResult.ABSENT;
        }

        @Override
        public StoreResult store(Entry entry) {
            return new StoreResult.Failed("a test");
        }

        @Override
        public void discard(Entry entry) {}

        @Override
        public void close() {
            closed.add(name);
            failure.ifPresent(error -> {
                throw error;
            });
        }
    }

    private GranaryConfig config() throws ConfigException {
        return new TestNode(directory, new FakeBucket())
                .config()
                .bucket("s3://first,s3://second")
                .build();
    }

    private Granary open(Tiers.BucketOpener buckets) throws ConfigException {
        return Granary.builder()
                .config(config())
                .over(buckets, InstantSource.system())
                .open();
    }

    private long sessions() throws Exception {
        if (!Files.isDirectory(directory.resolve("sessions"))) {
            return 0;
        }
        try (Stream<Path> all = Files.list(directory.resolve("sessions"))) {
            return all.filter(Files::isDirectory).count();
        }
    }

    @Test
    @DisplayName("If a bucket cannot be opened, the one before it is closed")
    void bucketFails() throws Exception {
        ConfigException refused = new ConfigException("a test");
        assertSame(
                refused,
                assertThrows(
                        ConfigException.class,
                        () -> open(bucket -> {
                            if (bucket.name().equals("s3://second")) {
                                throw refused;
                            }
                            return new Part(bucket.name(), Optional.empty());
                        })));
        assertEquals(List.of("s3://first"), closed);
        assertEquals(0, sessions());
    }

    @Test
    @DisplayName("If the local directory cannot be used, everything works without it")
    void directoryFails() throws Exception {
        Files.writeString(directory, "a file");
        open(bucket -> new Part(bucket.name(), Optional.empty())).close();
        assertEquals(
                List.of("s3://first", "s3://second"), closed.stream().sorted().toList());
    }

    @Test
    @DisplayName("If the session cannot be opened, everything works without it")
    void sessionFails() throws Exception {
        Files.createDirectories(directory);
        Files.writeString(directory.resolve("sessions"), "a file");
        open(bucket -> new Part(bucket.name(), Optional.empty())).close();
        assertEquals(
                List.of("s3://first", "s3://second"), closed.stream().sorted().toList());
    }

    @Test
    @DisplayName("If a bucket fails to close, the other bucket, the directory and the session are"
            + " closed, and the totals written")
    void closeFails() throws Exception {
        for (String failing : List.of("s3://first", "s3://second")) {
            closed.clear();
            Granary granary = open(bucket -> new Part(
                    bucket.name(),
                    bucket.name().equals(failing)
                            ? Optional.of(new AssertionError("a test"))
                            : Optional.empty()));
            assertEquals(1, sessions());
            granary.close();
            assertEquals(
                    List.of("s3://first", "s3://second"),
                    closed.stream().sorted().toList());
            assertEquals(0, sessions());
        }
        assertEquals(2, new Totals(directory).read().get("processes"));
    }

    @Test
    @DisplayName("If the opening fails after the tiers and the session are open, all are closed")
    void openingFails() throws Exception {
        IllegalStateException failure = new IllegalStateException("a test");
        assertSame(failure, assertThrows(IllegalStateException.class, () -> Granary.builder()
                .config(config())
                .over(bucket -> new Part(bucket.name(), Optional.empty()), () -> {
                    if (Files.exists(directory.resolve("sessions"))) {
                        throw failure;
                    }
                    return Instant.now();
                })
                .open()));
        assertEquals(
                List.of("s3://first", "s3://second"), closed.stream().sorted().toList());
        assertTrue(Files.exists(directory.resolve("sessions")));
        assertEquals(0, sessions());
    }

    @Test
    @DisplayName("If the totals cannot be written, the session is closed")
    void totalsFail() throws Exception {
        Granary granary = open(bucket -> new Part(bucket.name(), Optional.empty()));
        Files.createDirectories(directory.resolve("statistics.lock"));
        granary.close();
        assertEquals(0, sessions());
    }
}
