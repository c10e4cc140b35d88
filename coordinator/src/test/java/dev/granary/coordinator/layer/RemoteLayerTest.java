package dev.granary.coordinator.layer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.RefusedThreads;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.stores.CountingCache;
import dev.granary.coordinator.stores.OpenLayer;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Optional;

/** A layer whose process can start no further thread. */
class RemoteLayerTest {
    private static final Id ID = TestEntries.id("wanted");

    private final CompileTimeEstimate compileTimes = new CompileTimeEstimate();
    private final LookupTimeBudget budget = new LookupTimeBudget(compileTimes, TestNode.LONG);
    private final RemoteLayer layer = new RemoteLayer(
            new OpenLayer(
                    "bucket",
                    false,
                    new CountingCache("bucket", new FakeBucket()),
                    Optional.empty(),
                    List.of()),
            0,
            compileTimes,
            budget,
            Optional.empty());

    private LoadResult load() {
        return layer.load(List.of(ID), TestNode.LONG.toNanos());
    }

    @Test
    @DisplayName("A lookup without a thread is a counted failure, and the next one is sent")
    void loadWithoutThread() {
        try (layer) {
            try (RefusedThreads _ = new RefusedThreads()) {
                LoadResult.Unavailable lost =
                        assertInstanceOf(LoadResult.Unavailable.class, load());
                assertEquals(new OutOfMemoryError(RefusedThreads.MESSAGE).toString(), lost.cause());
            }
            assertEquals(
                    Optional.of(new OutOfMemoryError(RefusedThreads.MESSAGE).toString()),
                    layer.statistics().failure());
            assertEquals(LoadResult.ABSENT, load());
        }
    }

    @Test
    @DisplayName("A probe without a thread ends, so that another one can follow")
    void probeWithoutThread() {
        try (layer) {
            budget.charge(Long.MAX_VALUE / 2);
            try (RefusedThreads _ = new RefusedThreads()) {
                assertInstanceOf(LoadResult.Unavailable.class, load());
            }
            assertInstanceOf(LookupTimeBudget.Decision.Probe.class, budget.decide());
        }
    }
}
