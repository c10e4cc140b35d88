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
    public static final int MAX_ALONE = 100_000;

    /** How many further copies of entries one plan knows at most. */
    static final int MAX_SPARES = 100_000;

    private final long partBytes;
    private final Predicate<Sha256> wanted;
    private final Set<Sha256> seen = new HashSet<>();
    private final List<PackRange> parts = new ArrayList<>();
    private final List<UnpackedEntry> alone = new ArrayList<>();
    private final List<BulkEntryReader.LostPack> lost = new ArrayList<>();
    private Optional<String> unlisted = Optional.empty();
    private final Map<Sha256, List<Spare>> spares = new HashMap<>();
    private int spareCount;
    private long present;

    /** A further copy of an entry, which is read where the first one cannot be had. */
    sealed interface Spare {
        record InPack(PackInfo pack, PackLocation place) implements Spare {}

        record Alone(UnpackedEntry entry) implements Spare {}
    }

    BulkReadPlan(long partBytes, Predicate<Sha256> wanted) {
        this.partBytes = partBytes;
        this.wanted = wanted;
    }

    /** Adds what is wanted of a pack and is in none that was added before. */
    void add(PackInfo pack, TargetPackReader.Indexed indexed) {
        switch (indexed) {
            case TargetPackReader.Indexed.Ok ok -> {
                List<PackLocation> ours = new ArrayList<>();
                for (PackLocation place : ok.index().places()) {
                    if (seen.add(place.id())) {
                        ours.add(place);
                    } else if (wanted.test(place.id())) {
                        addSpare(place.id(), new Spare.InPack(pack, place));
                    }
                }
                List<PackLocation> missing = ours.stream().filter(place -> wanted.test(place.id())).toList();
                present += ours.size() - missing.size();
                parts.addAll(PackRange.of(pack, missing, partBytes));
            }
            case TargetPackReader.Indexed.Lost gone -> lost.add(new BulkEntryReader.LostPack(pack.name(), pack.entries(), pack.bytes(), gone.cause()));
            case TargetPackReader.Indexed.Forbidden gone -> lost.add(new BulkEntryReader.LostPack(pack.name(), pack.entries(), pack.bytes(), gone.cause()));
            case TargetPackReader.Indexed.Newer newer -> lost.add(new BulkEntryReader.LostPack(pack.name(), pack.entries(), pack.bytes(), newer.cause()));
            case TargetPackReader.Indexed.Unsaid unsaid ->
                lost.add(new BulkEntryReader.LostPack(pack.name(), pack.entries(), pack.bytes(), unsaid.failure().toString()));
        }
    }

    /**
     * Adds an entry that lies alone, if it is wanted and in no pack.
     *
     * @throws StopListingException if {@value #MAX_ALONE} were added: a plan has some 500 bytes for each
     */
    void add(UnpackedEntry entry) {
        if (seen.contains(entry.id())) {
            if (wanted.test(entry.id())) {
                addSpare(entry.id(), new Spare.Alone(entry));
            }
            return;
        }
        if (wanted.test(entry.id())) {
            if (alone.size() == MAX_ALONE) {
                throw new StopListingException();
            }
            alone.add(entry);
        } else {
            present++;
        }
    }

    private void addSpare(Sha256 id, Spare spare) {
        if (spareCount < MAX_SPARES) {
            spares.computeIfAbsent(id, _ -> new ArrayList<>(1)).add(spare);
            spareCount++;
        }
    }

    /** Where else an entry is, in the order in which readers look. */
    List<Spare> spares(Sha256 id) {
        return spares.getOrDefault(id, List.of());
    }

    void listed(ListResult result) {
        if (result instanceof ListResult.Unavailable failed) {
            unlisted = Optional.of(failed.failure().toString());
        }
    }

    void isCut() {
        unlisted = Optional.of("more than " + MAX_ALONE + " entries lie outside of packs; granary compact puts them into packs");
    }

    List<PackRange> parts() {
        return parts;
    }

    public List<UnpackedEntry> alone() {
        return alone;
    }

    /** How many entries are wanted and there. */
    public long entries() {
        return parts.stream().mapToLong(part -> part.places().size()).sum() + alone.size();
    }

    /** How many of them lie outside of packs. */
    public long entriesAlone() {
        return alone.size();
    }

    /** How many bytes will come, with what lies between the entries. */
    public long bytes() {
        return SizeSum.sum(LongStream.concat(parts.stream().mapToLong(PackRange::length), alone.stream().mapToLong(UnpackedEntry::bytes)));
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
