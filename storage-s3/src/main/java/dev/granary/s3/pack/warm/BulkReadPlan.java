package dev.granary.s3.pack.warm;

import dev.granary.cache.Sha256;
import dev.granary.s3.pack.PackInfo;
import dev.granary.s3.pack.PackLocation;
import dev.granary.s3.pack.PackRange;
import dev.granary.s3.pack.SizeSum;
import dev.granary.s3.pack.StopListingException;
import dev.granary.s3.pack.TargetPackReader;
import dev.granary.s3.pack.UnpackedEntry;
import dev.granary.s3.store.ListResult;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.LongStream;

/** What a {@link BulkEntryReader} is to read. Does not change once it is handed out. */
public final class BulkReadPlan {
    /** How many entries outside of packs one plan has at most. */
    public static final int MAX_UNPACKED = 100_000;

    /** How many further copies of entries one plan knows at most. */
    static final int MAX_COPIES = 100_000;

    private final long rangeBytes;
    private final Predicate<Sha256> wanted;
    private final Set<Sha256> seen = new HashSet<>();
    private final List<PackRange> ranges = new ArrayList<>();
    private final List<UnpackedEntry> unpacked = new ArrayList<>();
    private final List<BulkEntryReader.LostPack> lost = new ArrayList<>();
    private Optional<String> unlisted = Optional.empty();
    private final Map<Sha256, List<Copy>> copies = new HashMap<>();
    private int copyCount;
    private long present;

    /** A further copy of an entry, which is read where the first one cannot be had. */
    sealed interface Copy {
        record InPack(PackInfo pack, PackLocation location) implements Copy {}

        record Unpacked(UnpackedEntry entry) implements Copy {}
    }

    BulkReadPlan(long rangeBytes, Predicate<Sha256> wanted) {
        this.rangeBytes = rangeBytes;
        this.wanted = wanted;
    }

    /** Adds what is wanted of a pack and is in none that was added before. */
    void add(PackInfo pack, TargetPackReader.IndexResult indexed) {
        switch (indexed) {
            case TargetPackReader.IndexResult.Ok ok -> {
                List<PackLocation> ours = new ArrayList<>();
                for (PackLocation location : ok.index().locations()) {
                    if (seen.add(location.id())) {
                        ours.add(location);
                    } else if (wanted.test(location.id())) {
                        addCopy(location.id(), new Copy.InPack(pack, location));
                    }
                }
                List<PackLocation> missing = ours.stream().filter(location -> wanted.test(location.id())).toList();
                present += ours.size() - missing.size();
                ranges.addAll(PackRange.of(pack, missing, rangeBytes));
            }
            case TargetPackReader.IndexResult.Lost gone -> lost.add(new BulkEntryReader.LostPack(pack.name(), pack.entries(), pack.bytes(), gone.cause()));
            case TargetPackReader.IndexResult.Forbidden gone -> lost.add(new BulkEntryReader.LostPack(pack.name(), pack.entries(), pack.bytes(), gone.cause()));
            case TargetPackReader.IndexResult.Newer newer -> lost.add(new BulkEntryReader.LostPack(pack.name(), pack.entries(), pack.bytes(), newer.cause()));
            case TargetPackReader.IndexResult.Unavailable unavailable ->
                lost.add(new BulkEntryReader.LostPack(pack.name(), pack.entries(), pack.bytes(), unavailable.failure().toString()));
        }
    }

    /**
     * Adds an entry that lies alone, if it is wanted and in no pack.
     *
     * @throws StopListingException if {@value #MAX_UNPACKED} were added: a plan has some 500 bytes for each
     */
    void add(UnpackedEntry entry) {
        if (seen.contains(entry.id())) {
            if (wanted.test(entry.id())) {
                addCopy(entry.id(), new Copy.Unpacked(entry));
            }
            return;
        }
        if (wanted.test(entry.id())) {
            if (unpacked.size() == MAX_UNPACKED) {
                throw new StopListingException();
            }
            unpacked.add(entry);
        } else {
            present++;
        }
    }

    private void addCopy(Sha256 id, Copy duplicates) {
        if (copyCount < MAX_COPIES) {
            copies.computeIfAbsent(id, _ -> new ArrayList<>(1)).add(duplicates);
            copyCount++;
        }
    }

    /** Where else an entry is, in the order in which readers look. */
    List<Copy> copies(Sha256 id) {
        return copies.getOrDefault(id, List.of());
    }

    void listed(ListResult result) {
        if (result instanceof ListResult.Unavailable failed) {
            unlisted = Optional.of(failed.failure().toString());
        }
    }

    void setTruncated() {
        unlisted = Optional.of("more than " + MAX_UNPACKED + " entries lie outside of packs; granary compact puts them into packs");
    }

    List<PackRange> ranges() {
        return ranges;
    }

    public List<UnpackedEntry> unpacked() {
        return unpacked;
    }

    /** How many entries are wanted and there. */
    public long entries() {
        return ranges.stream().mapToLong(range -> range.locations().size()).sum() + unpacked.size();
    }

    /** How many of them lie outside of packs. */
    public long unpackedEntries() {
        return unpacked.size();
    }

    /** How many bytes will come, with what lies between the entries. */
    public long bytes() {
        return SizeSum.sum(LongStream.concat(ranges.stream().mapToLong(PackRange::length), unpacked.stream().mapToLong(UnpackedEntry::bytes)));
    }

    /** How many entries are there and not wanted. */
    public long present() {
        return present;
    }

    /** Packs that cannot be read. */
    public List<BulkEntryReader.LostPack> lost() {
        return List.copyOf(lost);
    }

    /** Why the entries outside of packs could not be listed; empty where they were, or were not to be. */
    public Optional<String> unlisted() {
        return unlisted;
    }
}
