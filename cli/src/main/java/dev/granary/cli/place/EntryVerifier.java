package dev.granary.cli.place;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntConsumer;
import java.util.function.Predicate;

/** Verifier that reads every listed entry and counts the results. Not thread-safe. */
public final class EntryVerifier {
    private final Map<DamageKind, Count> damaged = new EnumMap<>(DamageKind.class);
    private final List<Bad> bad = new ArrayList<>();
    private Count sound = Count.NONE;
    private Count unreadable = Count.NONE;
    private Count repaired = Count.NONE;

    private EntryVerifier() {}

    /**
     * A number of entries with the sum of their stored lengths.
     *
     * @param entries the number of entries
     * @param bytes their stored length in bytes
     */
    public record Count(long entries, long bytes) {
        /** No entries. */
        public static final Count NONE = new Count(0, 0);

        /** Returns this count with one more entry. */
        public Count plus(EntryCatalog.Listed listed) {
            return new Count(entries + 1, bytes + listed.bytes());
        }
    }

    /**
     * An entry that is not sound.
     *
     * @param listed the entry
     * @param reason the kind of damage in lower case, or {@code unreadable}
     * @param detail the details, for people
     * @param action the action taken on the entry
     */
    public record Bad(EntryCatalog.Listed listed, String reason, String detail, Action action) {}

    /** The action taken on an entry that is not sound. */
    public enum Action {
        /** It is still in the tier. */
        LEFT,
        /** It was removed. */
        REMOVED
    }

    /**
     * Returns true for entries that another version of Granary wrote: they belong to that version
     * and are not damaged.
     */
    public static boolean isOtherVersion(DamageKind damage) {
        return damage == DamageKind.TOO_OLD || damage == DamageKind.TOO_NEW;
    }

    /** Returns the name of a kind of damage, such as {@code too old}. */
    public static String name(DamageKind damage) {
        return damage.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    /**
     * Verifies all of {@code listed}.
     *
     * @param catalog the catalog of the entries
     * @param listed the entries
     * @param repair removes a damaged entry; returns true if it did
     * @param progress receives the position of each entry before it is read
     */
    public static EntryVerifier all(
            EntryCatalog catalog,
            List<EntryCatalog.Listed> listed,
            Predicate<EntryCatalog.Listed> repair,
            IntConsumer progress) {
        EntryVerifier verifier = new EntryVerifier();
        for (int i = 0; i < listed.size(); i++) {
            progress.accept(i);
            try (Arena memory = Arena.ofConfined()) {
                verifier.count(listed.get(i), catalog.read(listed.get(i), memory), repair);
            }
        }
        return verifier;
    }

    private void count(
            EntryCatalog.Listed listed, LoadResult read, Predicate<EntryCatalog.Listed> repair) {
        switch (read) {
            case LoadResult.Hit _ -> sound = sound.plus(listed);
            case LoadResult.Absent _ -> {} // evicted meanwhile
            case LoadResult.Damaged damage -> {
                damaged.merge(
                        damage.damage(), Count.NONE.plus(listed), (old, _) -> old.plus(listed));
                boolean isRepaired = !isOtherVersion(damage.damage()) && repair.test(listed);
                if (isRepaired) {
                    repaired = repaired.plus(listed);
                }
                bad.add(new Bad(
                        listed,
                        name(damage.damage()),
                        damage.detail(),
                        isRepaired ? Action.REMOVED : Action.LEFT));
            }
            case LoadResult.Unavailable lost -> {
                unreadable = unreadable.plus(listed);
                bad.add(new Bad(listed, "unreadable", lost.cause(), Action.LEFT));
            }
        }
    }

    /** Returns the sound entries. */
    public Count sound() {
        return sound;
    }

    /** Returns the damaged entries of a kind, before any repair. */
    public Count damaged(DamageKind damage) {
        return damaged.getOrDefault(damage, Count.NONE);
    }

    /** Returns the entries that could not be read. */
    public Count unreadable() {
        return unreadable;
    }

    /** Returns the damaged entries that were removed. */
    public Count repaired() {
        return repaired;
    }

    /** Returns every entry that is not sound, including those of another version. */
    public List<Bad> bad() {
        return List.copyOf(bad);
    }

    /** Returns true if no damaged or unreadable entry is left. */
    public boolean isHealthy() {
        // the repaired ones are among the damaged ones, which are added below
        long remaining = unreadable.entries() - repaired.entries();
        for (Map.Entry<DamageKind, Count> each : damaged.entrySet()) {
            remaining += isOtherVersion(each.getKey()) ? 0 : each.getValue().entries();
        }
        return remaining == 0;
    }
}
