package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.register.Register;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The plan of a compaction: the state of a target, and what is to be changed. */
public final class CompactionPlan {
    /**
     * The largest number of unpacked entries that one run takes. A plan has some 500 bytes for
     * each.
     */
    static final int MAX_UNPACKED = 100_000;

    /** The size in bytes below which packs are merged. */
    private static final long SMALL_BYTES = PackBuilder.FULL_BYTES / 2;

    /** The largest number of packs that one run rewrites; the head names them until they go. */
    private static final int MAX_SOURCES = 1_000;

    /** The largest numbers of packs, of their entries, and of unpacked ones that leave at once. */
    private static final int MAX_LEFT_PACKS = 128;

    private static final int MAX_LEFT = 50_000;

    final Optional<Register.Stored> head;
    final Map<ObjectName, PackInfo> packs = new LinkedHashMap<>();
    final Map<ObjectName, PackIndex> indexes = new HashMap<>();
    final Set<PackInfo> lost = new LinkedHashSet<>();
    final Map<Sha256, UnpackedEntry> unpacked = new LinkedHashMap<>();
    final Exclusion exclusion;

    /** The ids to be left out. */
    final Set<Sha256> without = new HashSet<>();

    /** The pack from which readers take an entry, by id. */
    final Map<Sha256, PackInfo> first = new HashMap<>();

    /** The packs to be rewritten, in the order of readers: the first copy of an id is moved. */
    final Set<PackInfo> sources = new LinkedHashSet<>();

    long tooLarge;
    boolean isTruncated;

    CompactionPlan(Optional<Register.Stored> head, Exclusion exclusion) {
        this.head = head;
        this.exclusion = exclusion;
    }

    /**
     * Adds an unpacked entry; one that is left out by request of a person whatever its size and the
     * number of others.
     *
     * @param writtenMillis when it was written, by the server's clock
     * @return false if the plan takes no more
     */
    boolean add(UnpackedEntry entry, long writtenMillis) {
        if (exclusion.hasUnpacked(entry.id(), writtenMillis)) {
            if (exclusion.isAlone() && unpacked.size() >= MAX_LEFT) {
                isTruncated = true;
                return false;
            }
            without.add(entry.id());
            unpacked.put(entry.id(), entry);
        } else if (exclusion.isAlone()) {
            return true;
        } else if (entry.bytes() > PackIndex.MAX_ENTRY_BYTES) {
            tooLarge++;
        } else if (unpacked.size() >= MAX_UNPACKED) {
            isTruncated = true;
            return exclusion != Exclusion.NONE;
        } else {
            unpacked.put(entry.id(), entry);
        }
        return true;
    }

    /** Chooses the packs to be rewritten, once all packs and unpacked entries are there. */
    void choose() {
        packs.values().forEach(pack -> locations(pack)
                .forEach(location -> first.putIfAbsent(location.id(), pack)));
        Set<PackInfo> taken = exclusion == Exclusion.NONE ? new HashSet<>() : exclude();
        if (!exclusion.isAlone()) {
            taken.addAll(mergeable(taken));
        }
        packs.values().stream().filter(taken::contains).forEach(sources::add);
    }

    /** Collects the ids that leave packs, and returns these packs. */
    private Set<PackInfo> exclude() {
        Set<PackInfo> taken = new HashSet<>();
        long entries = 0;
        for (PackInfo pack : packs.values()) {
            List<Sha256> ids = locations(pack).stream()
                    .map(PackLocation::id)
                    .filter(id -> exclusion.packs().test(pack.name())
                            && exclusion.ids().test(id))
                    .toList();
            if (ids.isEmpty()) {
                continue;
            }
            entries += pack.entries();
            // a collection may rewrite a whole target: in parts, for the sake of memory and disk
            if (exclusion.isAlone()
                    && !taken.isEmpty()
                    && (taken.size() >= MAX_LEFT_PACKS || entries > MAX_LEFT)) {
                isTruncated = true;
                break;
            }
            without.addAll(ids);
            taken.add(pack);
        }
        return taken;
    }

    /** Returns packs to be rewritten beside those that entries leave. */
    private Set<PackInfo> mergeable(Set<PackInfo> withLeftOut) {
        Set<PackInfo> chosen = new HashSet<>();
        Set<PackInfo> small = new HashSet<>();
        for (PackInfo pack : packs.values()) {
            if (lost.contains(pack) || withLeftOut.contains(pack)) {
                continue;
            }
            List<PackLocation> locations = locations(pack);
            long live = locations.stream()
                    .filter(one -> first.get(one.id()) == pack)
                    .count();
            if (2 * live < locations.size()) {
                chosen.add(pack);
            } else if (pack.bytes() < SMALL_BYTES) {
                small.add(pack);
            }
        }
        boolean isWorthwhile = small.size() + chosen.size() + withLeftOut.size() > 1
                || (!small.isEmpty() && folded() > 0);
        if (isWorthwhile) {
            chosen.addAll(small);
        }
        isTruncated |= chosen.size() > MAX_SOURCES;
        return packs.values().stream()
                .filter(chosen::contains)
                .limit(MAX_SOURCES)
                .collect(Collectors.toSet());
    }

    /** Returns the entries of a pack; none of a lost one. */
    List<PackLocation> locations(PackInfo pack) {
        PackIndex index = indexes.get(pack.name());
        return index == null ? List.of() : index.locations();
    }

    /** Returns the location of an entry in a pack. */
    Optional<PackLocation> find(PackInfo pack, Sha256 id) {
        return Optional.ofNullable(indexes.get(pack.name())).flatMap(index -> index.find(id));
    }

    /** Returns the names of packs that the next head must not name. */
    Set<ObjectName> leaving() {
        Set<ObjectName> leaving = new LinkedHashSet<>();
        lost.forEach(pack -> leaving.add(pack.name()));
        sources.forEach(pack -> leaving.add(pack.name()));
        return leaving;
    }

    /** Returns true if no pack is to be written or dropped. */
    public boolean isEmpty() {
        return folded() + merged() + lost() == 0;
    }

    /** Returns the number of unpacked entries that no pack has. */
    public long folded() {
        return unpacked.keySet().stream().filter(id -> !first.containsKey(id)).count();
    }

    /** Returns the size of the unpacked entries that no pack has, in bytes. */
    public long foldedBytes() {
        return unpacked.values().stream()
                .filter(entry -> !first.containsKey(entry.id()))
                .mapToLong(UnpackedEntry::bytes)
                .sum();
    }

    /**
     * Returns the number of unpacked entries that a pack has, too: they are removed after the grace
     * period, or go into a pack if they differ.
     */
    public long packed() {
        return unpacked.size() - folded();
    }

    /** Returns the number of packs that the target has now. */
    public long packs() {
        return packs.size();
    }

    /** Returns the number of packs that are merged or rewritten. */
    public long merged() {
        return sources.size();
    }

    /** Returns the number of entries that are left out, packed or not. */
    public long leftOut() {
        return without.size();
    }

    /** Returns the number of packs that are missing or damaged. */
    public long lost() {
        return lost.size();
    }

    /** Returns the number of entries that stay unpacked because they are too large. */
    public long tooLarge() {
        return tooLarge;
    }

    /** Returns true if there is more than one compaction takes; the next one continues. */
    public boolean isTruncated() {
        return isTruncated;
    }
}
