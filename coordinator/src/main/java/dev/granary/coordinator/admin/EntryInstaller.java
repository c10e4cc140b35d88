package dev.granary.coordinator.admin;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkReadPlan;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongConsumer;

/**
 * Installer of entries of a bucket in the local tier, with counters. Thread-safe.
 *
 * <p>An entry that the local tier does not store is skipped with the cause, which does not affect
 * the others.
 */
final class EntryInstaller implements BulkEntryReader.Receiver {
    private final PersistentCache local;
    private final LongConsumer progress;
    // more threads than processors create files more slowly: 16 take twice the time of 2
    private final Semaphore stores = new Semaphore(Runtime.getRuntime().availableProcessors());
    private final LongAdder installed = new LongAdder();
    private final LongAdder present = new LongAdder();
    private final LongAdder installedBytes = new LongAdder();
    private final LongAdder receivedBytes = new LongAdder();
    // guarded by itself
    private final Map<String, WarmReport.Skipped> skipped = new TreeMap<>();

    /**
     * Creates an installer into {@code local}.
     *
     * @param progress receives the number of bytes so far, on several threads
     */
    EntryInstaller(PersistentCache local, LongConsumer progress) {
        this.local = local;
        this.progress = progress;
    }

    @Override
    public void entries(List<BulkEntryReader.Arrival> arrivals) {
        stores.acquireUninterruptibly();
        try {
            arrivals.forEach(this::store);
        } finally {
            stores.release();
        }
    }

    private void store(BulkEntryReader.Arrival arrival) {
        long bytes = arrival.stored().byteSize();
        switch (local.store(arrival.entry())) {
            case StoreResult.Stored stored -> {
                installed.increment();
                installedBytes.add(stored.bytes());
            }
            case StoreResult.Duplicate _, StoreResult.Divergent _ -> present.increment();
            case StoreResult.Refused refused ->
                skipped(1, bytes, "the local tier refused it: " + refused.reason());
            case StoreResult.Failed failed ->
                skipped(1, bytes, "it could not be stored: " + failed.cause());
            case StoreResult.Unknown unknown ->
                skipped(1, bytes, "it could not be stored: " + unknown.cause());
        }
    }

    @Override
    public void skipped(int entries, long bytes, String cause) {
        synchronized (skipped) {
            skipped.merge(cause, new WarmReport.Skipped(entries, bytes), WarmReport.Skipped::plus);
        }
    }

    @Override
    public void received(long bytes) {
        receivedBytes.add(bytes);
        progress.accept(receivedBytes.sum());
    }

    /** Returns a report of the counters so far. */
    WarmReport report(BulkReadPlan plan, long requests) {
        synchronized (skipped) {
            return new WarmReport(
                    plan.entries(),
                    plan.unpackedEntries(),
                    installed.sum(),
                    installedBytes.sum(),
                    plan.present() + present.sum(),
                    receivedBytes.sum(),
                    requests,
                    new TreeMap<>(skipped),
                    0,
                    plan.unlisted());
        }
    }
}
