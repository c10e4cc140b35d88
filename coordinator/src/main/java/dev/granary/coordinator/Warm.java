package dev.granary.coordinator;

import dev.granary.cache.Entry;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.s3.pack.Warming;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongConsumer;

/**
 * Puts what comes out of packs into the local tier, and counts it. Thread-safe.
 *
 * <p>An entry that the local tier does not take is skipped, with the reason; the others go on.
 */
public final class Warm implements Warming.Receiver {
    private static final int MAX_ATTEMPTS = 3;
    private static final int AT_ONCE = 2;

    private final PersistentCache local;
    private final Semaphore storing = new Semaphore(AT_ONCE);
    private final LongConsumer progress;
    private final LongAdder installed = new LongAdder();
    private final LongAdder present = new LongAdder();
    private final LongAdder installedBytes = new LongAdder();
    private final LongAdder receivedBytes = new LongAdder();
    private final Map<String, Skipped> skipped = new TreeMap<>(); // guarded by itself

    /**
     * Entries that were skipped for one reason.
     *
     * @param entries how many
     * @param bytes how long they are in the bucket
     */
    public record Skipped(long entries, long bytes) {
        Skipped plus(Skipped other) {
            return new Skipped(entries + other.entries, bytes + other.bytes);
        }
    }

    /**
     * Fills {@code local}.
     *
     * @param progress told how many bytes have come so far, by several threads
     */
    public Warm(PersistentCache local, LongConsumer progress) {
        this.local = local;
        this.progress = progress;
    }

    @Override
    public void entry(Entry entry, MemorySegment stored) {
        switch (store(entry)) {
            case StoreResult.Stored done -> {
                installed.increment();
                installedBytes.add(done.bytes());
            }
            case StoreResult.Duplicate _, StoreResult.Divergent _ -> present.increment();
            case StoreResult.Refused refused -> skipped(1, stored.byteSize(), "the local tier does not take it: " + refused.reason());
            case StoreResult.Failed failed -> skipped(1, stored.byteSize(), "it could not be stored: " + failed.cause());
            case StoreResult.Unknown unknown -> skipped(1, stored.byteSize(), "it could not be stored: " + unknown.cause());
        }
    }

    /** Two at a time, since more would only wait for each other's commits; a busy directory is asked again. */
    private StoreResult store(Entry entry) {
        StoreResult result = new StoreResult.Failed("");
        for (int attempt = 1; attempt <= MAX_ATTEMPTS && result instanceof StoreResult.Failed; attempt++) {
            storing.acquireUninterruptibly();
            try {
                result = local.store(entry);
            } finally {
                storing.release();
            }
        }
        return result;
    }

    @Override
    public void skipped(int entries, long bytes, String cause) {
        synchronized (skipped) {
            skipped.merge(cause, new Skipped(entries, bytes), Skipped::plus);
        }
    }

    /** Counts a pack that cannot be read. */
    public void lost(Warming.LostPack pack) {
        skipped(pack.entries(), pack.bytes(), "a pack cannot be read: " + pack.cause());
    }

    /** Tells of an id that the local tier has already. */
    public void present(Sha256 id) {
        present.increment();
    }

    @Override
    public void received(long bytes) {
        receivedBytes.add(bytes);
        progress.accept(receivedBytes.sum());
    }

    /** Entries that are in the local tier now and were not before. */
    public long installed() {
        return installed.sum();
    }

    /** Their bytes on the disk. */
    public long installedBytes() {
        return installedBytes.sum();
    }

    /** Entries that were in the local tier already. */
    public long present() {
        return present.sum();
    }

    /** Bytes that came from the bucket. */
    public long receivedBytes() {
        return receivedBytes.sum();
    }

    /** What could not be had or not be kept, by reason. */
    public Map<String, Skipped> skipped() {
        synchronized (skipped) {
            return new TreeMap<>(skipped);
        }
    }
}
