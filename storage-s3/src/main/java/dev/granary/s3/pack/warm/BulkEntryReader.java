package dev.granary.s3.pack.warm;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.PackIndexReader;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.format.PackRange;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.register.Register;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StopListingException;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * Reader of all packs of one target, in large ranges and several at a time, which passes on every
 * verified entry. Thread-safe.
 *
 * <p>On request it also reads unpacked entries, with one request each: {@value #UNPACKED_WORKERS}
 * at a time, but at most {@value #UNPACKED_BYTES} bytes or one longer entry.
 *
 * <p>Memory holds at most {@value #WORKERS} ranges, each at most {@value #MAX_RANGE_BYTES} bytes, a
 * gap and one entry long. For each range, decompressed entries take at most {@value #BATCH_BYTES}
 * bytes and one entry.
 */
public final class BulkEntryReader {
    /** The number of ranges that are read at once. */
    static final int WORKERS = 8;

    /** The number of unpacked entries that are read at once. */
    static final int UNPACKED_WORKERS = 32;

    /** The bytes of unpacked entries that are read at once; a longer one is read alone. */
    private static final int UNPACKED_BYTES = 128 << 20;

    private static final int MIN_RANGE_BYTES = 8 << 20;
    private static final int MAX_RANGE_BYTES = 16 << 20;
    private static final long BATCH_BYTES = 2 << 20;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final TrustPolicy trust;
    private final Register register;
    private final int workers;
    private final int unpackedWorkers;

    public BulkEntryReader(Register register, PackIndexCache indexCache, TrustPolicy trust) {
        this(register, indexCache, trust, UNPACKED_WORKERS);
    }

    private BulkEntryReader(
            Register register, PackIndexCache indexCache, TrustPolicy trust, int maxThreads) {
        this.store = register.store();
        this.keys = register.keys();
        this.indexCache = indexCache;
        this.trust = trust;
        this.register = register;
        this.workers = Math.min(WORKERS, maxThreads);
        this.unpackedWorkers = maxThreads;
    }

    /** Returns a reader with one thread, which sends its requests in a fixed order. */
    BulkEntryReader inOneThread() {
        return new BulkEntryReader(register, indexCache, trust, 1);
    }

    /**
     * An entry that was received and is sound.
     *
     * @param entry the entry
     * @param stored the encoded entry, which backs {@code entry}
     */
    public record Arrival(Entry entry, MemorySegment stored) {}

    /** Receiver of entries. Called by several threads at once. */
    public interface Receiver {
        /**
         * Receives sound entries: some of one range, or one unpacked entry.
         *
         * @param batch the entries, at least one; their bytes are valid until this call returns
         */
        void entries(List<Arrival> batch);

        /**
         * Reports entries that could not be read.
         *
         * @param cause the cause, for people
         */
        void skipped(int entries, long bytes, String cause);

        /** Reports received bytes. */
        void received(long bytes);
    }

    /**
     * A pack that cannot be read.
     *
     * @param name its name
     * @param entries the number of its entries, by the head
     * @param bytes its length, by the head
     * @param cause the cause, for people
     */
    public record LostPack(ObjectName name, int entries, long bytes, String cause) {}

    /** Whether unpacked entries are read, too. */
    public enum UnpackedEntries {
        /** Those that no pack has are read: one listing, and a request for each. */
        READ,
        /** None is read. */
        SKIP
    }

    /**
     * Reads the head and the indexes of all packs, from the local cache where possible, and plans
     * the reads.
     *
     * @param wanted selects entries by the hash of the id
     * @throws IOException if the bucket does not report its packs
     * @throws InterruptedException if the caller was interrupted
     */
    public BulkReadPlan plan(UnpackedEntries unpackedEntries, Predicate<Sha256> wanted)
            throws IOException, InterruptedException {
        List<PackInfo> packs = register.packs();
        PackIndexReader.IndexResult[] indexes = new PackIndexReader.IndexResult[packs.size()];
        ParallelTasks.run(
                workers,
                IntStream.range(0, packs.size()).boxed().toList(),
                () -> at ->
                        indexes[at] = PackIndexReader.read(packs.get(at), keys, indexCache, store));
        long bytes = packs.stream().mapToLong(PackInfo::bytes).sum();
        BulkReadPlan plan = new BulkReadPlan(
                Math.clamp(bytes / (2L * WORKERS), MIN_RANGE_BYTES, MAX_RANGE_BYTES), wanted);
        for (int at = 0; at < packs.size(); at++) {
            plan.add(packs.get(at), indexes[at]);
        }
        if (unpackedEntries == UnpackedEntries.READ) {
            String prefix = keys.unpackedPrefix();
            try {
                plan.listed(store.list(
                        prefix, object -> UnpackedEntry.of(object, prefix).ifPresent(plan::add)));
            } catch (StopListingException e) {
                plan.setTruncated();
            }
        }
        return plan;
    }

    /**
     * Carries out a plan. Unreadable and unsound entries are reported and skipped. No entry is
     * passed on after this method returns.
     *
     * @throws InterruptedException if the caller was interrupted: the rest is neither read nor
     *     reported
     */
    public void run(BulkReadPlan plan, Receiver receiver) throws InterruptedException {
        SkippedEntries skippedEntries = new SkippedEntries(plan, receiver);
        int longestRange =
                plan.ranges().stream().mapToInt(PackRange::length).max().orElse(0);
        ParallelTasks.run(workers, plan.ranges(), () -> {
            // reused for all ranges of this thread: new memory is slower than the network
            byte[] memory = new byte[longestRange];
            return range -> read(range, memory, receiver, skippedEntries);
        });
        Semaphore memory = new Semaphore(UNPACKED_BYTES, true); // fair: long entries have turns
        ParallelTasks.run(
                unpackedWorkers,
                plan.unpacked(),
                () -> entry ->
                        within(memory, entry.bytes(), () -> read(entry, receiver, skippedEntries)));
        ParallelTasks.run(
                unpackedWorkers, List.copyOf(skippedEntries.retryable()), () -> skipped -> {
                    List<BulkReadPlan.Copy> copies = plan.copies(skipped.id());
                    long longest = copies.stream()
                            .mapToLong(BulkEntryReader::bytes)
                            .max()
                            .orElse(0);
                    within(memory, longest, () -> readCopies(skipped, copies, receiver));
                });
    }

    private static long bytes(BulkReadPlan.Copy copy) {
        return switch (copy) {
            case BulkReadPlan.Copy.InPack packed -> packed.location().length();
            case BulkReadPlan.Copy.Unpacked unpacked -> unpacked.entry().bytes();
        };
    }

    /** Runs a read of {@code bytes} when there is memory for them; 0 is an unknown length. */
    private static void within(Semaphore memory, long bytes, Runnable read) {
        int share = bytes > 0 ? (int) Math.min(bytes, UNPACKED_BYTES) : UNPACKED_BYTES;
        memory.acquireUninterruptibly(share);
        try {
            read.run();
        } finally {
            memory.release(share);
        }
    }

    /** An entry that could not be read from its first location. */
    private record SkippedEntry(Sha256 id, long bytes, String cause) {}

    /**
     * Reports entries that could not be read; those with another copy are retained for a retry.
     * Thread-safe.
     */
    private record SkippedEntries(
            BulkReadPlan plan, Receiver receiver, Queue<SkippedEntry> retryable) {
        SkippedEntries(BulkReadPlan plan, Receiver receiver) {
            this(plan, receiver, new ConcurrentLinkedQueue<>());
        }

        void skip(Sha256 id, long bytes, String cause) {
            if (plan.copies(id).isEmpty()) {
                receiver.skipped(1, bytes, cause);
            } else {
                retryable.add(new SkippedEntry(id, bytes, cause));
            }
        }

        void skip(PackRange range, String cause) {
            List<PackLocation> lost = range.locations().stream()
                    .filter(location -> plan.copies(location.id()).isEmpty())
                    .toList();
            if (lost.size() == range.locations().size()) {
                receiver.skipped(lost.size(), range.length(), cause);
                return;
            }
            range.locations().forEach(location -> skip(location.id(), location.length(), cause));
        }
    }

    /** Reads the other copies of an entry, one after the other, until one is sound. */
    private void readCopies(
            SkippedEntry skipped, List<BulkReadPlan.Copy> copies, Receiver receiver) {
        for (BulkReadPlan.Copy copy : copies) {
            GetResult read =
                    switch (copy) {
                        case BulkReadPlan.Copy.InPack(PackInfo pack, PackLocation location) ->
                            store.range(
                                    keys.pack(pack.name()), location.offset(), location.length());
                        case BulkReadPlan.Copy.Unpacked(UnpackedEntry entry) -> get(entry);
                    };
            if (read instanceof GetResult.Found found) {
                receiver.received(found.bytes().byteSize());
                if (decoded(skipped.id(), found.bytes()) instanceof LoadResult.Hit(Entry entry)) {
                    receiver.entries(List.of(new Arrival(entry, found.bytes())));
                    return;
                }
            }
        }
        receiver.skipped(1, skipped.bytes(), skipped.cause());
    }

    /** Reads an unpacked entry, and no more than the listing said, if it said a length. */
    private GetResult get(UnpackedEntry entry) {
        return store.get(entry.key(), entry.bytes() > 0 ? entry.bytes() : EntryFormat.MAX_BYTES);
    }

    private void read(UnpackedEntry entry, Receiver receiver, SkippedEntries skippedEntries) {
        switch (get(entry)) {
            case GetResult.Found found -> {
                receiver.received(found.bytes().byteSize());
                open(entry.id(), found.bytes(), skippedEntries)
                        .ifPresent(arrival -> receiver.entries(List.of(arrival)));
            }
            case GetResult.Absent _ ->
                receiver.skipped(1, entry.bytes(), "it is not there any more");
            case GetResult.TooLarge _ ->
                receiver.skipped(1, entry.bytes(), "it is longer than the listing said");
            case GetResult.Unavailable unavailable ->
                receiver.skipped(1, entry.bytes(), unavailable.failure().toString());
        }
    }

    private void read(
            PackRange range, byte[] memory, Receiver receiver, SkippedEntries skippedEntries) {
        switch (store.range(
                keys.pack(range.pack().name()), range.offset(), range.length(), memory)) {
            case GetResult.Found found -> {
                receiver.received(found.bytes().byteSize());
                passOn(range, found.bytes(), receiver, skippedEntries);
            }
            case GetResult.Absent _ -> skippedEntries.skip(range, "the pack is not there any more");
            case GetResult.TooLarge _ ->
                skippedEntries.skip(range, "the server sent more than was requested");
            case GetResult.Unavailable unavailable ->
                skippedEntries.skip(range, unavailable.failure().toString());
        }
    }

    /** Passes entries on in batches: decompressed ones take memory of their own until then. */
    private void passOn(
            PackRange range,
            MemorySegment bytes,
            Receiver receiver,
            SkippedEntries skippedEntries) {
        List<Arrival> batch = new ArrayList<>();
        long batchBytes = 0;
        for (PackLocation location : range.locations()) {
            if (Thread.currentThread().isInterrupted()) {
                return;
            }
            Optional<Arrival> arrival = unpack(location, range, bytes, skippedEntries);
            if (arrival.isPresent()) {
                batch.add(arrival.get());
                batchBytes += arrival.get().entry().binaries().byteSize();
            }
            if (batchBytes >= BATCH_BYTES) {
                receiver.entries(List.copyOf(batch));
                batch.clear();
                batchBytes = 0;
            }
        }
        if (!batch.isEmpty()) {
            receiver.entries(batch);
        }
    }

    private Optional<Arrival> unpack(
            PackLocation location,
            PackRange range,
            MemorySegment bytes,
            SkippedEntries skippedEntries) {
        long at = location.offset() - range.offset();
        if (location.length() > bytes.byteSize() - at) {
            skippedEntries.skip(
                    location.id(), location.length(), "the pack is shorter than its index says");
            return Optional.empty();
        }
        return open(location.id(), bytes.asSlice(at, location.length()), skippedEntries);
    }

    private Optional<Arrival> open(Sha256 id, MemorySegment stored, SkippedEntries skippedEntries) {
        return switch (decoded(id, stored)) {
            case LoadResult.Hit(Entry entry) -> Optional.of(new Arrival(entry, stored));
            case LoadResult.Damaged bad -> {
                String kind = bad.damage() == DamageKind.UNTRUSTED ? "untrusted: " : "damaged: ";
                skippedEntries.skip(id, stored.byteSize(), kind + bad.detail());
                yield Optional.empty();
            }
            case LoadResult.Absent _, LoadResult.Unavailable _ ->
                throw new IllegalStateException("Decoding ends in a hit or damage");
        };
    }

    private LoadResult decoded(Sha256 id, MemorySegment stored) {
        return trust.check(
                keys.checkId(EntryFormat.decode(stored, VerificationLevel.CONTENT_HASH), id));
    }
}
