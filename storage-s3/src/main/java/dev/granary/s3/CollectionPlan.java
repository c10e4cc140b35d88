package dev.granary.s3;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.PinStore;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.store.ObjectStore;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * The plan of a collection: which entries leave, and why others stay. Some 60 bytes for each entry.
 * For one thread.
 */
public final class CollectionPlan {
    /** The age below which nothing leaves: its publisher may not have noted its use yet. */
    public static final Duration YOUNG = Duration.ofDays(1);

    /** The number of days without a use after which entries leave, unless rules say another. */
    public static final int UNUSED_DAYS = 90;

    /** The number of days of which uses are counted. */
    static final int USE_DAYS = 30;

    /** The number of uses of an entry without one: it is worth less than one that was used. */
    private static final double NO_USE = 0.5;

    /** The compile time of an entry if no other one of its target has a known one. */
    private static final long EXPECTED_NANOS = 1_000_000_000;

    private final SortedMap<String, Target> targets = new TreeMap<>();
    final Rules rules;
    final long nowMillis; // by the server's clock
    final List<ObjectStore.Listed> claims = new ArrayList<>();
    Optional<LocalDate> firstNote = Optional.empty();
    long ignoredNotes;
    Optional<LocalDate> forgetBefore = Optional.empty();

    /**
     * The rules of a collection.
     *
     * @param targets the first characters of the targets that it covers; empty for all
     * @param unusedDays the number of days without a use after which an entry leaves
     * @param budgetBytes the size in bytes that the entries may have
     * @param isAll true if all entries leave, used or not
     */
    public record Rules(String targets, int unusedDays, long budgetBytes, boolean isAll) {
        /** Returns the rules by which only what is unused leaves, after the usual time. */
        public static Rules unused(String targets) {
            return new Rules(targets, UNUSED_DAYS, Long.MAX_VALUE, false);
        }
    }

    /**
     * A number of entries.
     *
     * @param bytes the size of all their copies
     * @param compileNanos their known compile times together
     */
    public record Sum(long entries, long bytes, long compileNanos) {
        /** The sum of nothing. */
        public static final Sum NONE = new Sum(0, 0, 0);

        /** Returns the sum of both. */
        public Sum plus(Sum other) {
            return new Sum(
                    entries + other.entries,
                    bytes + other.bytes,
                    compileNanos + other.compileNanos);
        }
    }

    /** An entry, with all its copies. */
    private static final class Candidate {
        private final long prefix;
        private long bytes;
        private long compileNanos;
        private int uses;
        private boolean isYoung;
        private boolean isUsed;
        private boolean isPinned;
        private boolean isLeaving;
        private boolean isOverBudget;
        private double value; // in a bucket the compile time that a byte of it saves
        private EntryCatalog.@Nullable Listed file; // in a directory

        Candidate(long prefix, long bytes, long compileNanos, boolean isYoung) {
            this.prefix = prefix;
            this.bytes = bytes;
            this.compileNanos = compileNanos;
            this.isYoung = isYoung;
        }

        boolean mayLeave() {
            return !isYoung && !isPinned;
        }

        void merge(Candidate copy) {
            bytes += copy.bytes;
            compileNanos = Math.max(compileNanos, copy.compileNanos);
            isYoung |= copy.isYoung;
        }

        Sum sum() {
            return new Sum(1, bytes, compileNanos);
        }
    }

    /** A target of the plan. */
    public final class Target {
        private final String namespace;
        private List<Candidate> entries = new ArrayList<>();
        private long[] prefixes = {}; // of the entries
        final Set<ObjectName> listedOld = new HashSet<>(); // packs
        boolean hasHead;
        boolean hasRetired;
        Optional<String> failure = Optional.empty();

        Target(String namespace) {
            this.namespace = namespace;
        }

        /** Returns the target, as {@link dev.granary.cache.Target#path()} does. */
        public String namespace() {
            return namespace;
        }

        /** Returns the reason why the target cannot be collected; empty if it can. */
        public Optional<String> failure() {
            return failure;
        }

        /** Returns the entries that leave. */
        public Sum leaving() {
            return sum(entry -> entry.isLeaving);
        }

        /** Returns the entries that leave although they were used, since the budget is exceeded. */
        public Sum overBudget() {
            return sum(entry -> entry.isOverBudget && entry.isLeaving);
        }

        /** Returns the entries that stay. */
        public Sum staying() {
            return sum(entry -> !entry.isLeaving);
        }

        /** Returns the entries that stay since they are pinned. */
        public Sum pinned() {
            return sum(entry -> entry.isPinned);
        }

        /** Returns the entries that stay since they are younger than a day. */
        public Sum young() {
            return sum(entry -> entry.isYoung);
        }

        /** Returns true if the collection changes something in the packs of this target. */
        public boolean hasWork() {
            return failure.isEmpty() && (hasRetired || leaving().entries() > 0);
        }

        /** Makes all entries stay, since they could not be collected. */
        public void keep() {
            entries.forEach(entry -> entry.isLeaving = false);
        }

        private Sum sum(Predicate<Candidate> which) {
            return entries.stream().filter(which).map(Candidate::sum).reduce(Sum.NONE, Sum::plus);
        }

        /** Returns whether the entry with this hash leaves. */
        public boolean isLeaving(Sha256 id) {
            Candidate entry = find(id.prefix());
            return entry != null && entry.isLeaving;
        }

        void addUnpacked(Sha256 id, long bytes, long writtenMillis) {
            entries.add(new Candidate(id.prefix(), Math.max(0, bytes), 0, !isOld(writtenMillis)));
        }

        void addPack(ObjectName name, PackIndex index) {
            boolean isYoung = !listedOld.contains(name);
            index.locations()
                    .forEach(one -> entries.add(new Candidate(
                            one.id().prefix(), one.length(), one.compileNanos(), isYoung)));
        }

        private void addFile(EntryCatalog.Listed file) {
            long used = Math.max(1, file.lastUsedMillis()); // archives unpack files of 1970
            Candidate entry = new Candidate(file.hash().prefix(), file.bytes(), 0, !isOld(used));
            entry.file = file;
            // the time may be a day older than the last use
            entry.isUsed = used >= oldMillis() - YOUNG.toMillis() * rules.unusedDays();
            entries.add(entry);
        }

        /**
         * Removes the files that leave from a directory. One that a pin names by now, or for which
         * {@code removal} returns false, stays.
         */
        public void collect(PinStore pins, Predicate<EntryCatalog.Listed> removal)
                throws IOException {
            pins.read(pin -> CollectionPlan.this.pinned(pin.ids()));
            for (Candidate entry : entries) {
                if (entry.isLeaving && entry.file != null) {
                    entry.isLeaving = removal.test(entry.file);
                }
            }
        }

        /** Merges the copies of entries, once all are there. */
        void merge() {
            entries.sort(Comparator.comparingLong(entry -> entry.prefix));
            List<Candidate> merged = new ArrayList<>(entries.size());
            for (Candidate entry : entries) {
                if (merged.isEmpty() || merged.getLast().prefix != entry.prefix) {
                    merged.add(entry);
                } else {
                    merged.getLast().merge(entry);
                }
            }
            entries = merged;
            prefixes = merged.stream().mapToLong(entry -> entry.prefix).toArray();
        }

        private @Nullable Candidate find(long prefix) {
            int at = Arrays.binarySearch(prefixes, prefix);
            return at < 0 ? null : entries.get(at);
        }

        /** Returns the compile time that an entry without a known one is taken to have. */
        private long expectedNanos() {
            return (long) entries.stream()
                    .filter(entry -> entry.compileNanos > 0)
                    .mapToLong(entry -> entry.compileNanos)
                    .average()
                    .orElse(EXPECTED_NANOS);
        }
    }

    CollectionPlan(Rules rules, long nowMillis) {
        this.rules = rules;
        this.nowMillis = nowMillis;
    }

    /**
     * Plans the collection of a directory, where the time of a file is the last use of its entry.
     * Over a budget, the least recently used ones leave.
     *
     * @throws IOException if the directory cannot be read, or a pin is damaged
     */
    public static CollectionPlan of(
            EntryCatalog directory, PinStore pins, Rules rules, long nowMillis) throws IOException {
        CollectionPlan plan = new CollectionPlan(rules, nowMillis);
        plan.firstNote = Optional.of(LocalDate.MIN); // each file has a time
        directory.list(file -> {
            if (file.namespace().startsWith(rules.targets())) {
                plan.target(file.namespace()).addFile(file);
            }
        });
        plan.targets().forEach(Target::merge);
        pins.read(pin -> plan.pinned(pin.ids()));
        plan.judge();
        return plan;
    }

    /** Returns the targets, in the order of their names. */
    public Collection<Target> targets() {
        return targets.values();
    }

    /** Returns the number of claims that are older than a day. */
    public long claims() {
        return claims.size();
    }

    /** Returns the number of notes that are damaged, or that a newer version wrote. */
    public long ignoredNotes() {
        return ignoredNotes;
    }

    /** Returns the first day of which there are notes of use; empty if there are none. */
    public Optional<LocalDate> firstNote() {
        return firstNote;
    }

    /** Returns true if it is known which entries are unused: notes of use go back that far. */
    public boolean knowsUnused() {
        return firstNote
                .filter(day -> !day.isAfter(day(nowMillis).minusDays(rules.unusedDays())))
                .isPresent();
    }

    /** Returns the bytes of the entries that stay and exceed the budget. */
    public long excessBytes() {
        return Math.max(0, stayingBytes() - rules.budgetBytes());
    }

    private long stayingBytes() {
        return targets.values().stream()
                .mapToLong(target -> target.staying().bytes())
                .sum();
    }

    static LocalDate day(long millis) {
        return LocalDate.ofInstant(Instant.ofEpochMilli(millis), ZoneOffset.UTC);
    }

    long oldMillis() {
        return nowMillis - YOUNG.toMillis() + 1;
    }

    boolean isOld(long writtenMillis) {
        return writtenMillis > 0 && writtenMillis < oldMillis();
    }

    /** Returns the target with this name; one without entries if there is none. */
    public Target target(String namespace) {
        return targets.computeIfAbsent(namespace, Target::new);
    }

    /** Records a use; an entry that was to leave as unused stays. */
    void used(LocalDate day, Map<String, long[]> ids) {
        boolean isCounted = !day.isBefore(day(nowMillis).minusDays(USE_DAYS));
        boolean isRecent = !day.isBefore(day(nowMillis).minusDays(rules.unusedDays()));
        forEach(ids, entry -> {
            entry.uses += isCounted ? 1 : 0;
            entry.isUsed |= isRecent;
            entry.isLeaving &= !isRecent || entry.isOverBudget || rules.isAll();
        });
    }

    /** Records a pin; an entry that was to leave stays. */
    void pinned(Map<String, long[]> ids) {
        forEach(ids, entry -> {
            entry.isPinned = true;
            entry.isLeaving = false;
        });
    }

    private void forEach(Map<String, long[]> ids, Consumer<Candidate> visitor) {
        ids.forEach((namespace, prefixes) -> {
            Target target = targets.get(namespace);
            if (target != null) {
                for (long prefix : prefixes) {
                    Candidate entry = target.find(prefix);
                    if (entry != null) {
                        visitor.accept(entry);
                    }
                }
            }
        });
    }

    /** Chooses the entries that leave, once entries, uses and pins are there. */
    void judge() {
        List<Target> readable = targets.values().stream()
                .filter(target -> target.failure.isEmpty())
                .toList();
        for (Target target : readable) {
            for (Candidate entry : target.entries) {
                entry.isLeaving =
                        entry.mayLeave() && (rules.isAll() || (knowsUnused() && !entry.isUsed));
            }
        }
        long excess = excessBytes();
        if (excess == 0) {
            return;
        }
        List<Candidate> others = new ArrayList<>();
        for (Target target : readable) {
            long expected = target.expectedNanos();
            for (Candidate entry : target.entries) {
                if (entry.mayLeave() && !entry.isLeaving) {
                    long nanos = entry.compileNanos > 0 ? entry.compileNanos : expected;
                    entry.value = entry.file != null
                            ? entry.file.lastUsedMillis()
                            : nanos * Math.max(NO_USE, entry.uses) / Math.max(1, entry.bytes);
                    others.add(entry);
                }
            }
        }
        others.sort(Comparator.comparingDouble(entry -> entry.value));
        for (Candidate entry : others) {
            if (excess <= 0) {
                return;
            }
            entry.isLeaving = true;
            entry.isOverBudget = true;
            excess -= entry.bytes;
        }
    }
}
