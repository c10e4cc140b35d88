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

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A layer without further threads, and one that fails at a readable namespace. */
class RemoteLayerTest {
    private static final Id ID = TestEntries.id("wanted");
    private static final Id OTHER = TestEntries.id("of a readable namespace");

    private final CompileTimeEstimate compileTimes = new CompileTimeEstimate();
    private final LookupTimeBudget budget = new LookupTimeBudget(compileTimes, TestNode.LONG);
    private final RemoteLayer layer = layerOf(new FakeBucket());

    private RemoteLayer layerOf(FakeBucket bucket) {
        return new RemoteLayer(
                new OpenLayer(
                        "bucket",
                        false,
                        new CountingCache("bucket", bucket),
                        Optional.empty(),
                        List.of()),
                0,
                compileTimes,
                budget,
                Optional.empty());
    }

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
    @DisplayName("A failure at the id of a readable namespace is a failure of the lookup, which"
            + " requests no further id")
    void failureAtOtherNamespace() {
        List<Id> requested = new ArrayList<>();
        FakeBucket failing = new FakeBucket() {
            @Override
            public LoadResult load(Id id) {
                requested.add(id);
                return id.equals(OTHER) ? new LoadResult.Unavailable("reset") : super.load(id);
            }
        };
        try (RemoteLayer lost = layerOf(failing)) {
            assertEquals(
                    new LoadResult.Unavailable("reset"),
                    lost.load(
                            List.of(ID, OTHER, TestEntries.id("third")), TestNode.LONG.toNanos()));
            assertEquals(List.of(ID, OTHER), requested);
            assertEquals(Optional.of("reset"), lost.statistics().failure());
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
