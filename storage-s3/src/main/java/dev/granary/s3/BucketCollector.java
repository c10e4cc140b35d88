package dev.granary.s3;

import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.PackIndexReader;
import dev.granary.s3.pack.PackIndexReader.IndexResult;
import dev.granary.s3.pack.PackReader;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.CompactionReport;
import dev.granary.s3.pack.compact.Exclusion;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.compact.PackRemover;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.io.IOException;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.function.ObjLongConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Collector of a bucket: removes entries that no machine uses, or the least valuable ones over a
 * budget. For one thread; any number of collectors may run at once.
 *
 * <p>Entries leave packs by a {@linkplain PackCompactor compaction} that leaves them out, and
 * unpacked ones by the version that was listed. What is younger than a day or pinned stays, and so
 * does what a note of use names. Pins and new notes are read again right before each swap.
 */
public final class BucketCollector {
    /** The number of times that a part of a target is planned again after other writers. */
    private static final int MAX_ATTEMPTS = 5;

    /** The largest number of packs, and of claims, that are listed. */
    private static final int MAX_KEYS = 100_000;

    /** How far the clocks of machines may differ from the server's, in days. */
    private static final int SKEW_DAYS = 7;

    /** The number of days whose notes stay, for a later collection with other rules. */
    private static final int KEPT_DAYS = 90;

    /** How far the clocks of one server may differ. */
    private static final long SERVER_SKEW_MILLIS = 600_000;

    private static final Pattern KEY =
            Pattern.compile(BucketLayout.NAMESPACE + "/(head|[ep]/.*|c/[0-9a-f]{64})");

    private final ObjectStore store;
    private final PackReader.Settings settings;
    private final UseNotes notes;
    private final BucketPins pins;
    private Optional<String> lookFailure = Optional.empty();

    BucketCollector(ObjectStore store, PackReader.Settings settings, UseNotes notes) {
        this.store = store;
        this.settings = settings;
        this.notes = notes;
        this.pins = new BucketPins(settings.layout(), store);
    }

    /**
     * The outcome for one or all targets, in numbers of objects.
     *
     * @param removed those that were removed
     * @param unremoved those that were to be removed and are still there
     * @param waiting those that a later collection or compaction removes
     * @param lostPacks packs that are missing or damaged, of which one was dropped
     */
    public record Outcome(long removed, long unremoved, long waiting, List<String> lostPacks) {
        private Outcome plus(Outcome other) {
            return new Outcome(
                    removed + other.removed,
                    unremoved + other.unremoved,
                    waiting + other.waiting,
                    Stream.concat(lostPacks.stream(), other.lostPacks.stream()).toList());
        }
    }

    /**
     * Plans a collection; changes nothing in the bucket.
     *
     * @throws IOException if the bucket, its notes or pins cannot be read, or a pin is damaged
     */
    public CollectionPlan plan(CollectionPlan.Rules rules) throws IOException {
        return plan(rules, PackIndexCache.NONE); // a pack that is lost is to be found
    }

    /** As {@link #plan}; indexes of packs are taken from a cache, where it has them. */
    CollectionPlan plan(CollectionPlan.Rules rules, PackIndexCache indexes) throws IOException {
        CollectionPlan plan = new CollectionPlan(rules, serverMillis());
        list(plan);
        for (CollectionPlan.Target target : plan.targets()) {
            readPacks(target, indexes);
        }
        look(plan, 0);
        plan.judge();
        return plan;
    }

    /** Returns the date of the server, which alone decides what is young. */
    private long serverMillis() throws IOException {
        long now =
                switch (store.get(settings.layout().probeObject("date"), 1)) {
                    case GetResult.Found found -> found.dates().nowMillis();
                    case GetResult.Absent(long millis) -> millis;
                    case GetResult.TooLarge _ -> 0;
                    case GetResult.Unavailable(StoreFailure failure) ->
                        throw new IOException("the bucket cannot be read: " + failure);
                };
        if (now == 0) {
            throw new IOException("the server sends no date, so that no age is known");
        }
        return now;
    }

    private void list(CollectionPlan plan) throws IOException {
        String root = settings.layout().root();
        int[] packs = {0};
        ListResult listed = store.list(root + plan.rules.targets(), object -> {
            Matcher key = KEY.matcher(object.key().substring(root.length()));
            if (!key.matches()) {
                return; // objects of unknown names are never touched
            }
            TargetLayout keys = settings.keys(key.group(1));
            Optional<ObjectName> pack = keys.packName(object.key());
            boolean isOld = plan.isOld(object.lastModifiedMillis());
            if (object.key().equals(keys.head())) {
                plan.target(keys.namespace()).hasHead = true;
            } else if (pack.isPresent()) {
                if (isOld && packs[0]++ < MAX_KEYS) { // further ones count as young
                    plan.target(keys.namespace()).listedOld.add(pack.get());
                }
            } else if (key.group(2).startsWith("c/")) {
                if (isOld && plan.claims.size() < MAX_KEYS) {
                    plan.claims.add(object);
                }
            } else {
                settings.layout().listed(object).ifPresent(entry -> plan.target(keys.namespace())
                        .addUnpacked(entry.hash(), entry.bytes(), object.lastModifiedMillis()));
            }
        });
        if (listed instanceof ListResult.Unavailable(StoreFailure failure)) {
            throw new IOException("the bucket cannot be listed: " + failure);
        }
    }

    /** Adds the entries of the packs of a target. One that cannot be read is not collected. */
    private void readPacks(CollectionPlan.Target target, PackIndexCache indexes) {
        try {
            Optional<Register.Stored> stored = target.hasHead
                    ? settings.register(store, target.namespace()).read()
                    : Optional.empty();
            if (stored.isPresent()) {
                target.hasRetired = !stored.get().head().retired().isEmpty();
                Set<ObjectName> read = new HashSet<>();
                for (PackInfo pack : settings.register(store, target.namespace())
                        .packs(stored.get().head())) {
                    if (read.add(pack.name())) {
                        readPack(target, pack, indexes);
                    }
                }
            }
        } catch (RegisterException e) {
            target.failure = Optional.of(String.valueOf(e.getMessage()));
        }
        target.merge();
    }

    private void readPack(CollectionPlan.Target target, PackInfo pack, PackIndexCache indexes) {
        TargetLayout keys = settings.keys(target.namespace());
        switch (PackIndexReader.read(pack, keys, indexes, store)) {
            case IndexResult.Ok(var index) -> target.addPack(pack.name(), index);
            case IndexResult.Lost _ ->
                target.failure = Optional.of("pack " + pack.name()
                        + " is missing or damaged; granary compact drops what is lost");
            case IndexResult.Unavailable(String cause) ->
                target.failure = Optional.of(
                        "the index of pack " + pack.name() + " cannot be read: " + cause);
        }
    }

    /** Reads pins and notes that were written since then, by the server's clock. */
    private void look(CollectionPlan plan, long sinceMillis) throws IOException {
        pins.read(sinceMillis, pin -> plan.pinned(pin.ids()));
        if (plan.rules.isAll()) {
            return;
        }
        LocalDate today = CollectionPlan.day(sinceMillis == 0 ? plan.nowMillis : serverMillis());
        int days = Math.max(plan.rules.unusedDays(), CollectionPlan.USE_DAYS);
        LocalDate from =
                CollectionPlan.day(plan.nowMillis).minusDays(sinceMillis == 0 ? days : SKEW_DAYS);
        if (sinceMillis == 0) {
            NavigableSet<LocalDate> noted = notes.days();
            plan.firstNote = noted.stream().findFirst();
            // one day before stays, which shows how far notes go back
            plan.forgetBefore =
                    Optional.ofNullable(noted.floor(today.minusDays(Math.max(days, KEPT_DAYS))));
        }
        plan.ignoredNotes += notes.read(
                from,
                today.plusDays(SKEW_DAYS),
                sinceMillis,
                note -> plan.used(note.day(), note.ids()));
    }

    /**
     * Removes the entries that leave from all targets. If one fails, its entries stay, and it has
     * the cause.
     *
     * @param isDeleteExact true if the server honours the condition of a deletion
     * @param progress receives the target and the number of bytes that its part has read so far
     */
    public Outcome collect(
            CollectionPlan plan, boolean isDeleteExact, ObjLongConsumer<String> progress) {
        Outcome sum = new Outcome(0, 0, 0, List.of());
        for (CollectionPlan.Target target : plan.targets()) {
            if (target.hasWork()) {
                String name = target.namespace();
                try {
                    sum = sum.plus(collect(
                            plan, target, isDeleteExact, bytes -> progress.accept(name, bytes)));
                } catch (IOException | CompactionException e) {
                    target.keep();
                    target.failure = Optional.of(String.valueOf(e.getMessage()));
                }
            }
        }
        return sum;
    }

    /**
     * Removes the entries of a target that leave, in several parts, and packs that left long ago.
     *
     * @param isDeleteExact true if the server honours the condition of a deletion
     * @param progress receives the number of bytes that a part has read so far
     */
    public Outcome collect(
            CollectionPlan plan,
            CollectionPlan.Target target,
            boolean isDeleteExact,
            LongConsumer progress)
            throws CompactionException, IOException {
        Register register = settings.register(store, target.namespace());
        PackCompactor compactor = new PackCompactor(register);
        Exclusion leaving = new Exclusion(
                target::isLeaving,
                target.listedOld::contains,
                plan.oldMillis(),
                true,
                () -> mayStillLeave(plan, target));
        lookFailure = Optional.empty(); // one of another target has ended the collection of that
        List<String> lost = new ArrayList<>();
        long unremoved = 0;
        int attempts = 0;
        boolean isDone = target.leaving().entries() == 0;
        while (!isDone) {
            CompactionPlan part = compactor.plan(leaving);
            if (part.leftOut() == 0) {
                break;
            }
            Optional<CompactionReport> report =
                    compactor.run(part, CollectionPlan.YOUNG, isDeleteExact, progress);
            if (lookFailure.isPresent()) {
                throw new IOException(lookFailure.get());
            }
            if (report.isPresent()) {
                unremoved += report.get().unremoved();
                lost.addAll(report.get().lostPacks());
                isDone = !part.isTruncated() || unremoved > 0 || !lost.isEmpty();
                attempts = 0;
            } else if (++attempts == MAX_ATTEMPTS) {
                throw new IOException(
                        "other writers were faster " + MAX_ATTEMPTS + " times; try again");
            }
        }
        PackRemover.Removal removal = target.hasHead
                ? new PackRemover(register).run(CollectionPlan.YOUNG)
                : new PackRemover.Removal(0, 0, 0);
        return new Outcome(
                compactor.removed() + removal.removed(),
                unremoved + removal.unremoved(),
                removal.waiting(),
                lost);
    }

    /** Returns false if a pin or note names one of the entries now, which then stays. */
    private boolean mayStillLeave(CollectionPlan plan, CollectionPlan.Target target) {
        long before = target.leaving().entries();
        try {
            look(plan, plan.nowMillis - SERVER_SKEW_MILLIS);
        } catch (IOException e) {
            lookFailure = Optional.of(String.valueOf(e.getMessage()));
            return false;
        }
        return target.leaving().entries() == before;
    }

    /** Removes old claims; one that was taken over meanwhile stays. Returns their number. */
    public long removeClaims(CollectionPlan plan) {
        return plan.claims.stream()
                .filter(claim ->
                        store.deleteIfMatch(claim.key(), claim.etag()) instanceof WriteResult.Done)
                .count();
    }

    /** Removes notes of use that are older than any rule needs. Returns their number. */
    public long forgetNotes(CollectionPlan plan) throws IOException {
        return plan.forgetBefore.isEmpty() ? 0 : notes.forget(plan.forgetBefore.get());
    }
}
