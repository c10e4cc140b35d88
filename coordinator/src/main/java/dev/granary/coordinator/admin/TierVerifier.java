package dev.granary.coordinator.admin;

import dev.granary.cache.DamageKind;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntConsumer;
import java.util.function.Predicate;

/** Reads and checks every listed entry, and counts what that finds. Not thread-safe. */
public final class TierVerifier {
    private final Map<DamageKind, Count> damaged = new EnumMap<>(DamageKind.class);
    private final List<Bad> bad = new ArrayList<>();
    private Count sound = Count.NONE;
    private Count unreadable = Count.NONE;
    private Count repaired = Count.NONE;

    private TierVerifier() {}

    /** A number of entries, and their length as stored together. */
    public record Count(long entries, long bytes) {
        /** No entries. */
        public static final Count NONE = new Count(0, 0);

        /** One entry more. */
        public Count plus(EntryCatalog.Listed listed) {
            return new Count(entries + 1, bytes + listed.bytes());
        }
    }

    /**
     * An entry that is not sound.
     *
     * @param listed which
     * @param reason the kind of damage in lower case, or {@code unreadable}
     * @param detail where and how, for people
     * @param fate what became of it
     */
    public record Bad(EntryCatalog.Listed listed, String reason, String detail, Fate fate) {}

    /** What became of an entry that is not sound. */
    public enum Fate {
        /** It lies where it lay. */
        LEFT,
        /** It was taken away. */
        REMOVED
    }

    /** True for entries that another version of Granary wrote: they are that version's, and no damage. */
    public static boolean isOtherVersion(DamageKind damage) {
        return damage == DamageKind.TOO_OLD || damage == DamageKind.TOO_NEW;
    }

    /** How a kind of damage is called: {@code too old}. */
    public static String name(DamageKind damage) {
        return damage.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    /**
     * Checks all of {@code listed}.
     *
     * @param catalog where they are
     * @param listed which
     * @param repair takes a damaged entry away, and says whether it did
     * @param progress told the number of each entry before it is read
     */
    public static TierVerifier all(EntryCatalog catalog, List<EntryCatalog.Listed> listed, Predicate<EntryCatalog.Listed> repair, IntConsumer progress) {
        TierVerifier verifying = new TierVerifier();
        for (int i = 0; i < listed.size(); i++) {
            progress.accept(i);
            try (Arena memory = Arena.ofConfined()) {
                verifying.count(listed.get(i), EntryVerifier.read(catalog, listed.get(i), memory), repair);
            }
        }
        return verifying;
    }

    private void count(EntryCatalog.Listed listed, LoadResult read, Predicate<EntryCatalog.Listed> repair) {
        switch (read) {
            case LoadResult.Hit _ -> sound = sound.plus(listed);
            case LoadResult.Absent _ -> {} // evicted meanwhile
            case LoadResult.Damaged found -> {
                damaged.merge(found.damage(), Count.NONE.plus(listed), (old, _) -> old.plus(listed));
                boolean isRepaired = !isOtherVersion(found.damage()) && repair.test(listed);
                if (isRepaired) {
                    repaired = repaired.plus(listed);
                }
                bad.add(new Bad(listed, name(found.damage()), found.detail(), isRepaired ? Fate.REMOVED : Fate.LEFT));
            }
            case LoadResult.Unavailable lost -> {
                unreadable = unreadable.plus(listed);
                bad.add(new Bad(listed, "unreadable", lost.cause(), Fate.LEFT));
            }
        }
    }

    /** Entries that are all that they should be. */
    public Count sound() {
        return sound;
    }

    /** Damaged entries by kind, before any repair. */
    public Count damaged(DamageKind damage) {
        return damaged.getOrDefault(damage, Count.NONE);
    }

    /** Entries that could not be read. */
    public Count unreadable() {
        return unreadable;
    }

    /** Damaged entries that were taken away. */
    public Count repaired() {
        return repaired;
    }

    /** Every entry that is not sound, those of another version too. */
    public List<Bad> bad() {
        return List.copyOf(bad);
    }

    /** True where nothing damaged or unreadable is left. */
    public boolean isWell() {
        long left = unreadable.entries() - repaired.entries(); // only damaged ones are repaired
        for (Map.Entry<DamageKind, Count> each : damaged.entrySet()) {
            left += isOtherVersion(each.getKey()) ? 0 : each.getValue().entries();
        }
        return left == 0;
    }
}
