package dev.granary.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.granary.cache.contract.TestEntries;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tests of the counters of a tier. */
class TierStatisticsTest {
    private final TierStatistics statistics = new TierStatistics();
    private final Entry entry =
            TestEntries.entry(TestEntries.id("a"), KernelBinaries.of(new byte[100], new byte[23]));

    private void script() {
        LoadResult hit = new LoadResult.Hit(entry);
        assertSame(hit, statistics.count(hit, 1000));
        statistics.count(hit, 2000);
        statistics.count(LoadResult.ABSENT, 10);
        statistics.count(LoadResult.ABSENT, 10);
        statistics.count(LoadResult.ABSENT, 10);
        statistics.count(new LoadResult.Unavailable("silence"), 500);
        int times = 0;
        for (DamageKind damage : DamageKind.values()) {
            times++; // a different number for each kind
            for (int i = 0; i < times; i++) {
                statistics.count(new LoadResult.Damaged(damage, "somewhere"), 1);
            }
        }
        StoreResult stored = new StoreResult.Stored(150);
        assertSame(stored, statistics.count(stored));
        statistics.count(new StoreResult.Stored(50));
        statistics.count(StoreResult.DUPLICATE);
        statistics.count(StoreResult.DIVERGENT);
        statistics.count(StoreResult.DIVERGENT);
        statistics.count(new StoreResult.Refused(StoreResult.Scope.STORE, "full"));
        statistics.count(new StoreResult.Failed("reset"));
        statistics.count(new StoreResult.Failed("reset"));
        statistics.count(new StoreResult.Failed("reset"));
        statistics.count(new StoreResult.Unknown("no answer"));
    }

    private static TierStatistics.Snapshot expected(long times) {
        Map<DamageKind, Long> damaged = new HashMap<>();
        long count = 0;
        for (DamageKind damage : DamageKind.values()) {
            count++;
            damaged.put(damage, times * count);
        }
        return new TierStatistics.Snapshot(
                2 * times,
                3 * times,
                damaged,
                times,
                246 * times,
                (3530 + damageCount()) * times,
                2 * times,
                200 * times,
                times,
                2 * times,
                times,
                3 * times,
                times);
    }

    private static long damageCount() {
        long kinds = DamageKind.values().length;
        return kinds * (kinds + 1) / 2;
    }

    @Test
    @DisplayName("O1 counters are exact for a scripted sequence")
    void scripted() {
        script();
        assertEquals(expected(1), statistics.snapshot());
        assertEquals(3 + 1 + damageCount(), statistics.snapshot().misses());
    }

    @Test
    @DisplayName("O1 counters are exact for the same sequence in eight threads")
    void threads() throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
            List<Callable<Void>> work = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                work.add(() -> {
                    script();
                    return null;
                });
            }
            for (Future<Void> done : threads.invokeAll(work)) {
                done.get();
            }
        }
        assertEquals(expected(200), statistics.snapshot());
    }

    @Test
    @DisplayName("O1 a snapshot does not change, and contains only kinds that occurred")
    void snapshot() {
        TierStatistics.Snapshot before = statistics.snapshot();
        assertEquals(
                new TierStatistics.Snapshot(0, 0, Map.of(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), before);
        statistics.count(new LoadResult.Damaged(DamageKind.FOREIGN, "a page"), 5);
        assertEquals(0, before.misses());
        assertEquals(Map.of(DamageKind.FOREIGN, 1L), statistics.snapshot().damaged());
        assertThrows(
                UnsupportedOperationException.class,
                () -> statistics.snapshot().damaged().clear());
    }
}
