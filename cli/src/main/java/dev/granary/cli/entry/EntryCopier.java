package dev.granary.cli.entry;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntrySigner;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkReadPlan;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * Copier of verified entries into one place, with counters. An entry that cannot be copied is
 * counted by its cause and does not affect the others. Thread-safe.
 */
public final class EntryCopier implements BulkEntryReader.Receiver {
    private static final int MAX_LISTED = 20;
    private static final Pattern ID =
            Pattern.compile("\\b([0-9a-f]{" + Units.SHORT_ID + "})[0-9a-f]{48}\\b");

    private final BiConsumer<Entry, Consumer<StoreResult>> store;
    private final Repair repair;
    private final Consumer<EntryCopier> progress;
    private final Semaphore stores;
    final LongAdder copied = new LongAdder();
    final LongAdder copiedBytes = new LongAdder(); // as stored
    final LongAdder present = new LongAdder(); // that the destination had already
    final LongAdder presentBytes = new LongAdder(); // of keys and binaries of those that were read
    final LongAdder otherVersions = new LongAdder(); // left out: another version wrote them
    final LongAdder receivedBytes = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder removed = new LongAdder();
    final Map<String, Long> failures = new ConcurrentSkipListMap<>(); // by cause

    /** Removal of a damaged entry. */
    @FunctionalInterface
    public interface Repair {
        boolean remove(Listed entry) throws IOException;
    }

    /**
     * Creates a copier.
     *
     * @param store stores an entry and calls its argument with the result, perhaps later
     * @param threads the number of stores at once
     * @param progress receives this copier whenever its counters change
     */
    EntryCopier(
            BiConsumer<Entry, Consumer<StoreResult>> store,
            Repair repair,
            int threads,
            Consumer<EntryCopier> progress) {
        this.store = store;
        this.repair = repair;
        this.stores = new Semaphore(threads);
        this.progress = progress;
    }

    /**
     * Creates a copier into a place, which refuses a binary whose container shows that it is not
     * for the target of its entry.
     *
     * @param signer signs each entry; empty: entries keep the signatures that they have
     */
    public static EntryCopier into(
            Place to, Optional<EntrySigner> signer, Consumer<EntryCopier> progress) {
        return new EntryCopier(
                (entry, whenDone) -> {
                    if (CompatibilityChecker.check(entry.id().target(), entry.binaries())
                            instanceof BinaryCompatibility.Incompatible(String reason)) {
                        whenDone.accept(new StoreResult.Refused(
                                StoreResult.Scope.ENTRY, "incompatible: " + reason));
                    } else {
                        to.store(signer.map(key -> key.sign(entry)).orElse(entry), whenDone);
                    }
                },
                _ -> false,
                to.writers(),
                progress);
    }

    /** Creates a copier that stores nothing, and counts the entries that are intact as present. */
    public static EntryCopier ofNone(Repair repair, Consumer<EntryCopier> progress) {
        return new EntryCopier(
                (_, whenDone) -> whenDone.accept(StoreResult.DUPLICATE),
                repair,
                Runtime.getRuntime().availableProcessors(),
                progress);
    }

    /**
     * Copies entries from one place into another.
     *
     * @param isWhole whether those that are there are copied as well, such as for their signatures
     */
    public void copy(List<Listed> entries, boolean isWhole, Place from, Place to)
            throws InterruptedException {
        List<Listed> missing = entries.parallelStream()
                .filter(entry -> isWhole || !to.contains(entry))
                .toList();
        present.add(entries.size() - (long) missing.size());
        from.read(missing, this);
        to.finish();
    }

    /** Reads and verifies an entry, and copies it. One that was evicted meanwhile is left out. */
    public void read(EntryCatalog catalog, Listed listed) {
        try (Arena memory = Arena.ofConfined()) {
            switch (catalog.read(listed, memory)) {
                case LoadResult.Hit(Entry entry) ->
                    entries(List.of(new BulkEntryReader.Arrival(entry, MemorySegment.NULL)));
                case LoadResult.Absent _ -> {}
                case LoadResult.Damaged(DamageKind damage, String detail) -> {
                    if (Place.isOtherVersion(damage)) {
                        otherVersions.increment();
                    } else if (repair.remove(listed)) {
                        removed.increment();
                    } else {
                        skip(listed, Place.name(damage) + ": " + detail);
                    }
                }
                case LoadResult.Unavailable lost -> skip(listed, lost.cause());
            }
        } catch (IOException e) {
            skip(listed, "it is damaged, and cannot be removed: " + e);
        }
    }

    private void skip(Listed listed, String cause) {
        skipped(1, listed.bytes(), listed.hash().hex() + ": " + cause);
    }

    @Override
    public void entries(List<BulkEntryReader.Arrival> batch) {
        stores.acquireUninterruptibly();
        try {
            for (BulkEntryReader.Arrival arrival : batch) {
                Entry entry = arrival.entry();
                String id = entry.id().hash().hex();
                long bytes = entry.id().length() + entry.binaries().byteSize();
                store.accept(entry, result -> count(id, bytes, result));
            }
        } finally {
            stores.release();
        }
    }

    private void count(String id, long bytes, StoreResult result) {
        switch (result) {
            case StoreResult.Stored stored -> {
                copied.increment();
                copiedBytes.add(stored.bytes());
                progress.accept(this);
            }
            case StoreResult.Duplicate _, StoreResult.Divergent _ -> {
                present.increment();
                presentBytes.add(bytes);
            }
            case StoreResult.Refused(StoreResult.Scope scope, String reason) ->
                skipped(1, bytes, scope == StoreResult.Scope.STORE ? reason : id + ": " + reason);
            case StoreResult.Failed lost -> skipped(1, bytes, id + ": " + lost.cause());
            case StoreResult.Unknown unknown -> skipped(1, bytes, id + ": " + unknown.cause());
        }
    }

    @Override
    public void skipped(int entries, long bytes, String cause) {
        failed.add(entries);
        failures.merge(cause, (long) entries, Long::sum);
        progress.accept(this);
    }

    void skipLost(BulkReadPlan plan) {
        plan.lost()
                .forEach(pack -> skipped(
                        pack.entries(), pack.bytes(), "a pack cannot be read: " + pack.cause()));
    }

    @Override
    public void received(long bytes) {
        receivedBytes.add(bytes);
        progress.accept(this);
    }

    public long copied() {
        return copied.sum();
    }

    /** Adds the causes for which entries failed to a report, with shortened ids in the text. */
    public void addFailures(Report report) {
        report.table("failures", failures.entrySet())
                .column("failed:entries", Map.Entry::getValue)
                .column("~cause", each -> shortened(each.getKey()))
                .limit(MAX_LISTED);
    }

    private static Report.Shown shortened(String cause) {
        return new Report.Shown(cause, ID.matcher(cause).replaceAll("$1"));
    }

    /** Returns the number of entries that are copied, or need not or cannot be. */
    long done() {
        return copied() + present.sum() + otherVersions.sum() + failed.sum() + removed.sum();
    }
}
