package dev.granary.s3.pack.warm;

import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.s3.pack.PackIndexReader;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.format.PackRange;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.StopListingException;
import dev.granary.s3.store.StoreFailure;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/** The plan of a {@link BulkEntryReader}. Immutable while it is carried out. */
public final class BulkReadPlan {
    /** The largest number of unpacked entries in a plan. */
    public static final int MAX_UNPACKED = 100_000;

    /** The largest number of further copies of entries in a plan. */
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

    /** A further copy of an entry, read if the first one cannot be read. */
    sealed interface Copy {
        /** A copy in a pack. */
        record InPack(PackInfo pack, PackLocation location) implements Copy {}

        /** A copy that is an object of its own. */
        record Unpacked(UnpackedEntry entry) implements Copy {}
    }

    BulkReadPlan(long rangeBytes, Predicate<Sha256> wanted) {
        this.rangeBytes = rangeBytes;
        this.wanted = wanted;
    }

    /** Adds the wanted entries of a pack that no earlier pack has. */
    void add(PackInfo pack, PackIndexReader.IndexResult indexed) {
        switch (indexed) {
            case PackIndexReader.IndexResult.Ok ok -> {
                List<PackLocation> firstCopies = new ArrayList<>();
                for (PackLocation location : ok.index().locations()) {
                    if (seen.add(location.id())) {
                        firstCopies.add(location);
                    } else if (wanted.test(location.id())) {
                        addCopy(location.id(), new Copy.InPack(pack, location));
                    }
                }
                List<PackLocation> missing = firstCopies.stream()
                        .filter(location -> wanted.test(location.id()))
                        .toList();
                present += firstCopies.size() - missing.size();
                ranges.addAll(PackRange.of(pack, missing, rangeBytes));
            }
            case PackIndexReader.IndexResult.Lost lost -> addLost(pack, lost.cause());
            case PackIndexReader.IndexResult.Unavailable(String cause) -> addLost(pack, cause);
        }
    }

    private void addLost(PackInfo pack, String cause) {
        lost.add(new BulkEntryReader.LostPack(pack.name(), pack.entries(), pack.bytes(), cause));
    }

    /**
     * Adds an unpacked entry, if it is wanted and in no pack.
     *
     * @throws StopListingException if {@value #MAX_UNPACKED} were added: a plan has some 500 bytes
     *     for each
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

    private void addCopy(Sha256 id, Copy copy) {
        if (copyCount < MAX_COPIES) {
            copies.computeIfAbsent(id, _ -> new ArrayList<>(1)).add(copy);
            copyCount++;
        }
    }

    /** Returns the other copies of an entry, in the order in which readers try them. */
    List<Copy> copies(Sha256 id) {
        return copies.getOrDefault(id, List.of());
    }

    void listed(ListResult result) {
        if (result instanceof ListResult.Unavailable failed) {
            unlisted = Optional.of(failed.failure() + "; " + remedy(failed.failure()));
        }
    }

    private static String remedy(StoreFailure failure) {
        if (failure.kind() != StoreFailure.Kind.DENIED) {
            return "warm again later";
        }
        return failure.code().isEmpty() || failure.code().equals("AccessDenied")
                ? "allow s3:ListBucket"
                : "correct the credentials";
    }

    void setTruncated() {
        unlisted = Optional.of("more than " + MAX_UNPACKED
                + " unpacked entries; granary compact puts them into packs");
    }

    /**
     * Leaves out entries, before the plan is carried out.
     *
     * @return their number
     */
    public long leaveOut(Predicate<Sha256> unwanted) {
        long before = entries();
        List<PackRange> all = List.copyOf(ranges);
        ranges.clear();
        for (PackRange range : all) {
            List<PackLocation> rest = range.locations().stream()
                    .filter(location -> !unwanted.test(location.id()))
                    .toList();
            ranges.addAll(PackRange.of(range.pack(), rest, rangeBytes));
        }
        unpacked.removeIf(entry -> unwanted.test(entry.id()));
        return before - entries();
    }

    /**
     * Leaves out ranges of the oldest packs as soon as newer ones have a length, before the plan is
     * carried out.
     *
     * @return the number of entries that were left out
     */
    public long limit(long enoughBytes) {
        long before = entries();
        ranges.sort(Comparator.comparingLong(
                        (PackRange range) -> range.pack().name().generation())
                .reversed());
        long bytes = 0;
        int kept = 0;
        while (kept < ranges.size() && bytes < enoughBytes) {
            bytes += ranges.get(kept++).length();
        }
        ranges.subList(kept, ranges.size()).clear();
        return before - entries();
    }

    List<PackRange> ranges() {
        return ranges;
    }

    public List<UnpackedEntry> unpacked() {
        return unpacked;
    }

    /** Returns the number of wanted entries that exist. */
    public long entries() {
        return ranges.stream().mapToLong(range -> range.locations().size()).sum() + unpacked.size();
    }

    /** Returns the number of wanted unpacked entries. */
    public long unpackedEntries() {
        return unpacked.size();
    }

    /** Returns the number of bytes to be read, with the gaps between entries. */
    public long bytes() {
        return ranges.stream().mapToLong(PackRange::length).sum()
                + unpacked.stream()
                        // a server may list any size
                        .mapToLong(entry -> Math.clamp(entry.bytes(), 0L, EntryFormat.MAX_BYTES))
                        .sum();
    }

    /** Returns the number of existing entries that are not wanted. */
    public long present() {
        return present;
    }

    /** Returns the packs that cannot be read. */
    public List<BulkEntryReader.LostPack> lost() {
        return List.copyOf(lost);
    }

    /**
     * Returns the reason for which not all unpacked entries were listed, with the remedy; empty if
     * all were, or none was to be read.
     */
    public Optional<String> unlisted() {
        return unlisted;
    }
}
