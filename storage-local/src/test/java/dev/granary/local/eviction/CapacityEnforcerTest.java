package dev.granary.local.eviction;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.local.LocalTier;
import dev.granary.local.SharedEntries;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.IoFailureLog;
import dev.granary.local.store.LastUseRecorder;
import dev.granary.local.store.SegmentStore;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/** Tests of the wait for another's sweep. */
@Timeout(60)
final class CapacityEnforcerTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(1);

    @TempDir
    private Path directory;

    @Test
    @DisplayName("E3 A8 a store whose time was spent before does not find a sweep stalled: the next"
            + " store waits, and only the one after it fails at once")
    void observedTooShortly() throws Exception {
        SegmentStore store = SegmentStore.share(
                directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE, TIMEOUT);
        try (LocalTier tier = LocalTier.open(
                LocalTierConfig.builder(directory).background(Runnable::run).build())) {
            assertThat(tier.store(SharedEntries.entry("large", 10_000))).isStored();
            CapacityEnforcer enforcer = enforcer(store);
            List<String> failures = new ArrayList<>();
            assertTrue(store.runSweep(() -> {
                failures.add(store.withSharedTimeout(() -> {
                    store.remainingTime().deduct(Duration.ofDays(1).toNanos());
                    return failure(enforcer);
                }));
                failures.add(failure(enforcer));
                failures.add(failure(enforcer));
            }));
            assertTrue(failures.get(0).contains(" has made no progress for "), failures::toString);
            assertTrue(failures.get(1).contains(" has made no progress for "), failures::toString);
            assertTrue(failures.get(2).endsWith(" makes no progress"), failures::toString);
        } finally {
            store.release();
        }
    }

    private static CapacityEnforcer enforcer(SegmentStore store) {
        IoFailureLog failures = new IoFailureLog();
        LastUseRecorder lastUses =
                new LastUseRecorder(store, InstantSource.system(), Runnable::run, failures);
        Evictor evictor = new Evictor(store, new EntryReader(id -> id.hash()), lastUses, failures);
        return new CapacityEnforcer(
                store, evictor, EvictionPolicy.LRU, 1000, TIMEOUT, Runnable::run);
    }

    private static String failure(CapacityEnforcer enforcer) {
        return String.valueOf(
                assertThrows(CapacityEnforcer.FullException.class, enforcer::ensureCapacity)
                        .getMessage());
    }
}
