package dev.granary.coordinator;

import dev.granary.cache.Id;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.tier.TestTiers;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A machine with a local directory, on which Granary instances are opened one after the other or
 * concurrently.
 */
public final class TestNode {
    public static final Duration LONG = Duration.ofSeconds(30);

    public final Path directory;
    final FakeBucket bucket;
    public final Map<Id, StoreResult> published = new ConcurrentHashMap<>();
    volatile Duration claimWait = GranaryConfig.DEFAULT_CLAIM_WAIT;
    volatile Instant now = Instant.now();

    public TestNode(Path directory, FakeBucket bucket) {
        this.directory = directory;
        this.bucket = bucket;
    }

    public Granary open() throws ConfigException {
        return open("s3://test", LONG);
    }

    public Granary open(String bucketName, Duration flushLimit) throws ConfigException {
        GranaryConfig config =
                config().bucket(bucketName).flushLimit(flushLimit).build();
        return open(config);
    }

    /**
     * Opens an instance of that configuration, with the bucket of this node for each configured
     * bucket, and its clock.
     */
    Granary open(GranaryConfig config) throws ConfigException {
        return Granary.builder()
                .config(config)
                .over(
                        TestTiers.buckets(
                                config.buckets().stream().map(_ -> bucket).toList()),
                        () -> now)
                .published((_, id, result) -> published.put(id, result))
                .open();
    }

    /** Opens an instance with those buckets in place of the configured ones, in order. */
    public static Granary over(GranaryConfig config, PersistentCache... buckets)
            throws ConfigException {
        return Granary.builder()
                .config(config)
                .over(TestTiers.buckets(List.of(buckets)), InstantSource.system())
                .open();
    }

    public Granary openWithoutBucket() throws ConfigException {
        return Granary.open(config().build());
    }

    public GranaryConfigBuilder config() throws ConfigException {
        return GranaryConfig.builder()
                .environment(Map.of("XDG_CONFIG_HOME", directory + "-no-configuration"))
                .directory(directory)
                .claimWait(claimWait);
    }

    /** Returns the files of all sessions in that subdirectory. */
    public List<Path> sessionFiles(String subdirectory) throws IOException {
        List<Path> files = new ArrayList<>();
        for (Path session : children(directory.resolve("sessions"))) {
            files.addAll(children(session.resolve(subdirectory)));
        }
        return files;
    }

    private static List<Path> children(Path parent) throws IOException {
        if (!Files.isDirectory(parent)) {
            return List.of();
        }
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(parent)) {
            List<Path> children = new ArrayList<>();
            stream.forEach(children::add);
            return children;
        }
    }

    /** Closes a cache, and returns its statistics at the end. */
    public static GranaryStatistics closed(Granary granary) {
        granary.close();
        return granary.statistics();
    }
}
