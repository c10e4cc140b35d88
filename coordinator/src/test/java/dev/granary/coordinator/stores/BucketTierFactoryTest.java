package dev.granary.coordinator.stores;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.BucketTier;
import dev.granary.s3.config.S3Config;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/** Tests of the limits of bucket tiers for a configured wait. */
class BucketTierFactoryTest {
    private static S3Config limits(Path directory, Duration bucketWait) throws Exception {
        GranaryConfig config = GranaryConfig.builder()
                .environment(Map.of("HOME", "/nonexistent"))
                .directory(directory)
                .bucket("s3://kernels/ci")
                .endpoint("http://127.0.0.1:9")
                .bucketWait(bucketWait)
                .build();
        try (BucketTier tier = BucketTierFactory.open(config).getFirst()) {
            return tier.config();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4, 5, 8, 9, 10, 12, 30, 31, 60, 3600})
    @DisplayName("R23 a load may send requests during the whole wait for a bucket")
    void wholeWait(int seconds, @TempDir Path directory) throws Exception {
        Duration wait = Duration.ofSeconds(seconds);
        S3Config limits = limits(directory, wait);
        Duration request = limits.connection().requestTimeout();
        assertTrue(request.compareTo(S3Config.DEFAULT_REQUEST_TIMEOUT) >= 0, request::toString);
        assertTrue(limits.loadDeadline().minus(request).compareTo(wait) >= 0, limits::toString);
        assertTrue(
                limits.loadDeadline().compareTo(S3Config.DEFAULT_LOAD_DEADLINE) >= 0,
                limits::toString);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4})
    @DisplayName("R23 a wait up to the default leaves the limit of one request as it is")
    void usual(int seconds, @TempDir Path directory) throws Exception {
        assertEquals(
                S3Config.DEFAULT_REQUEST_TIMEOUT,
                limits(directory, Duration.ofSeconds(seconds)).connection().requestTimeout());
    }
}
