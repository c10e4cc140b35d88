package dev.granary.s3.history;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.DuplicateFinder;
import dev.granary.s3.TestProcess;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.pack.PackManifest;
import dev.granary.s3.pack.PackManifestLog;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkReadPlan;
import dev.granary.s3.pack.warm.SequentialReading;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.s3.store.ObjectMarks;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * One random history of a fleet over one bucket. All that is random comes from its number and the seed; who makes the next request is chosen by it;
 * time is that of the bucket's clock. So the same number gives the same history.
 */
final class History {
    /** Further ahead of the history's clock than any skew is only the real clock. */
    static final long FAR_MILLIS = TimeUnit.DAYS.toMillis(3650) / 10;

    private static final String NAMESPACE = TestEntries.TARGET.path();
    private static final Duration GRACE = Duration.ofDays(1);

    /** From this time on an acknowledged entry is found by processes that knew an older state. */
    private static final long KNOWN_MILLIS = TimeUnit.MINUTES.toMillis(10);
    private static final int ATTEMPTS = 5;

    /** How often a process tries at the end: what happened before may open its circuit breaker still. */
    private static final int LAST_ATTEMPTS = 2;

    /** So long a process may leave the bucket alone after trouble. */
    private static final long LEFT_ALONE_MILLIS = TimeUnit.SECONDS.toMillis(60);

    private final SplittableRandom random;
    private final Trace trace;
    private final Set<Feature> features = EnumSet.noneOf(Feature.class);
    private final List<Disturbance> troubles = new ArrayList<>();
    private final double troubleRate;
    private final double switchRate;
    private final Duration retention;
    private final Bucket bucket;
    private final Ledger ledger;
    private final S3Config config;
    private final Fibers fibers = new Fibers();
    private final List<Machine> machines = new ArrayList<>();
    private final List<List<Entry>> entries = new ArrayList<>(); // for each id, what may be published of it
    private final Map<Id, Entry> outbox = new LinkedHashMap<>();
    private final Set<Id> handedOver = new LinkedHashSet<>();
    private final Set<Id> everAcknowledged = new HashSet<>();
    private long lostPacksForgotten;
    private boolean isOver;

    History(long number, Path directory, boolean isTraced) {
        String name = "history " + number;
        this.random = new SplittableRandom(HistoriesTest.SEED ^ ((long) name.hashCode() << 32));
        this.trace = new Trace(isTraced);
        for (Feature feature : Feature.values()) {
            if (random.nextDouble() < feature.probability()) {
                features.add(feature);
            }
        }
        this.troubleRate = has(Feature.TROUBLE) ? List.of(0.01, 0.04, 0.1).get(random.nextInt(3)) : 0;
        int kinds = random.nextInt(1, 5);
        for (int i = 0; i < kinds; i++) {
            troubles.add(Disturbance.all().get(random.nextInt(Disturbance.all().size())));
        }
        this.switchRate = List.of(0.0, 0.05, 0.3).get(random.nextInt(3));
        this.retention = Duration.ofDays(random.nextBoolean() ? 90 : 10);
        boolean isWeaker = random.nextBoolean();
        this.bucket = new Bucket(!has(Feature.CREATE_ONLY) ? Bucket.Matching.KEPT : isWeaker ? Bucket.Matching.IGNORED : Bucket.Matching.REFUSED,
                !has(Feature.STRIPPED_METADATA));
        this.config = config().build();
        this.ledger = new Ledger(bucket, config, NAMESPACE, has(Feature.NO_LISTING));
        bucket.put(TestProcess.markerKey(config),
                TestProcess.marker(has(Feature.CREATE_ONLY) ? ConditionalWriteSupport.CREATE_ONLY : ConditionalWriteSupport.FULL), ObjectMarks.NONE);
        makeEntries(new TestEntries(name));
        makeMachines(directory);
    }

    private S3Config.Builder config() {
        return S3Config.builder("bucket").retention(retention);
    }

    private boolean has(Feature feature) {
        return features.contains(feature);
    }

    private void makeEntries(TestEntries maker) {
        int ids = random.nextInt(2, 9);
        for (int i = 0; i < ids; i++) {
            Id id = maker.id();
            List<Entry> contents = List.of(maker.entry(id, 20 + random.nextInt(300)), maker.entry(id, 20 + random.nextInt(300)));
            contents.forEach(ledger::content);
            entries.add(contents);
        }
    }

    private void makeMachines(Path directory) {
        int count = random.nextInt(2, 6);
        for (int i = 0; i < count; i++) {
            boolean mayList = !has(Feature.NO_LISTING) || random.nextBoolean();
            Optional<Path> shelves = has(Feature.SHELVES) && random.nextInt(4) > 0 ? Optional.of(directory.resolve(has(Feature.SHARED_SHELF) ? "all" : "m" + i)) : Optional.empty();
            long skew = has(Feature.SKEW) ? random.nextLong(-TimeUnit.DAYS.toMillis(2), TimeUnit.DAYS.toMillis(2)) : 0;
            machines.add(new Machine(this, bucket, ledger, config(), new Machine.Kind("m" + i, mayList, shelves, skew), NAMESPACE, random.split()));
        }
    }

    /** Runs the history; throws {@link Violation} where something does not hold. */
    void run() {
        trace(() -> features + ", " + troubles + " at " + troubleRate + ", " + bucket.matching() + ", retention " + retention.toDays() + " days");
        try {
            int works = random.nextInt(6, 26);
            while (works > 0) {
                works -= step() ? 1 : 0;
            }
            end();
        } finally {
            isOver = true;
            fibers.abandon();
            machines.forEach(Machine::close);
        }
    }

    String text() {
        return trace.text();
    }

    int events() {
        return trace.events();
    }

    /** How many lost packs were taken off manifests by publishers. */
    long lostPacksForgotten() {
        return lostPacksForgotten;
    }

    // ---- called by the machines

    void trace(Supplier<String> line) {
        trace.add(line);
    }

    /** Lets others go on, or not. */
    void turn(Machine machine) {
        bucket.pass(1 + random.nextInt(15));
        if (!isOver && random.nextDouble() < switchRate) {
            machine.stampShelf();
            machine.work().fiber().handOver();
        }
    }

    Disturbance trouble(Machine.Work work, String method) {
        if (isOver || random.nextDouble() >= troubleRate) {
            return Disturbance.NONE;
        }
        List<Disturbance> fitting = troubles.stream().filter(one -> fits(one, method) && !(one.isLie() && work.hasHeardALie())).toList();
        return fitting.isEmpty() ? Disturbance.NONE : fitting.get(random.nextInt(fitting.size()));
    }

    private static boolean fits(Disturbance trouble, String method) {
        boolean isRead = method.equals("GET") || method.equals("RANGE") || method.equals("HEAD") || method.equals("LIST");
        return switch (trouble) {
            case NONE -> false;
            case LOST, LATE, REFUSED -> true;
            case ANSWER_LOST, CONFLICT, CONFLICT_LANDED, FALSE_412, REFUSED_LANDED -> !isRead;
            case TRUNCATED, SWAPPED -> method.equals("GET") || method.equals("RANGE");
            case STALE -> isRead;
            case BARE -> isRead && !method.equals("LIST");
        };
    }

    int lag() {
        return random.nextInt(1, 10);
    }

    // ---- the course of things

    /** One step; true where a process began something. */
    private boolean step() {
        List<Machine> busy = machines.stream().filter(machine -> !machine.isIdle() && !machine.isFrozen()).toList();
        List<Machine> idle = machines.stream().filter(Machine::isIdle).toList();
        machines.forEach(machine -> machine.thaw(1));
        int dice = random.nextInt(100);
        if (!busy.isEmpty() && dice < 60) {
            goOn(busy.get(random.nextInt(busy.size())));
            return false;
        }
        if (!idle.isEmpty() && dice < 85) {
            begin(idle.get(random.nextInt(idle.size())));
            return true;
        }
        happen();
        ledger.judge();
        return false;
    }

    private void goOn(Machine machine) {
        machine.work().fiber().resume();
        if (!machine.work().fiber().isDone()) {
            if (has(Feature.SUSPENSION) && random.nextInt(8) == 0) {
                machine.freeze(random.nextInt(5, 40));
                trace(() -> machine.name() + " is suspended in " + machine.work().what());
            }
        } else {
            machine.end();
        }
        ledger.judge();
    }

    private void begin(Machine machine) {
        switch (draw(5, 3, 5, 3, 1, 1)) {
            case 1 -> {
                if (has(Feature.ALONE)) {
                    Entry entry = anyEntry();
                    begin(machine, "store " + Ledger.name(entry.id()), Ledger.Remover.PUBLISHER, () -> storeAlone(machine, entry));
                }
            }
            case 2 -> {
                Id id = anyEntry().id();
                begin(machine, "load " + Ledger.name(id), Ledger.Remover.PUBLISHER, () -> load(machine, id));
            }
            case 3 -> {
                if (has(Feature.COMPACTION)) {
                    PackManifest.Loose loose = has(Feature.SEALING) && random.nextBoolean() ? PackManifest.Loose.NONE : PackManifest.Loose.ALLOWED;
                    begin(machine, loose == PackManifest.Loose.NONE ? "compact and seal" : "compact", Ledger.Remover.COMPACTOR, () -> compact(machine, loose));
                }
            }
            case 4 -> {
                if (has(Feature.WARMING)) {
                    begin(machine, "warm", Ledger.Remover.PUBLISHER, () -> warm(machine));
                }
            }
            case 5 -> {
                machine.reboot();
                trace(() -> machine.name() + " starts a new process");
            }
            default -> {
                List<Entry> some = someEntries();
                begin(machine, "populate " + some.stream().map(entry -> Ledger.name(entry.id())).toList(), Ledger.Remover.PUBLISHER,
                        () -> populate(machine, some));
            }
        }
    }

    private int draw(int... weights) {
        int sum = 0;
        for (int weight : weights) {
            sum += weight;
        }
        int at = random.nextInt(sum);
        int index = 0;
        while (at >= weights[index]) {
            at -= weights[index++];
        }
        return index;
    }

    private void begin(Machine machine, String what, Ledger.Remover remover, Runnable task) {
        trace(() -> machine.name() + " begins: " + what);
        Machine.Work work = new Machine.Work(what, remover, bucket.nowMillis(), ledger.mark());
        machine.begin(work);
        boolean isBefore = random.nextBoolean();
        boolean isAfter = random.nextInt(5) > 0;
        work.by(fibers.start(() -> {
            if (isBefore) {
                machine.doBehind();
            }
            task.run();
            if (isAfter) {
                machine.doBehind();
            }
        }));
        goOn(machine);
    }

    private Entry anyEntry() {
        return anyOf(random.nextInt(entries.size()));
    }

    private Entry anyOf(int id) {
        return entries.get(id).get(random.nextInt(6) == 0 ? 1 : 0);
    }

    /** Few, so that there is something left to be published later. */
    private List<Entry> someEntries() {
        Set<Integer> ids = new TreeSet<>();
        int count = random.nextInt(1, 4);
        for (int i = 0; i < count; i++) {
            ids.add(random.nextInt(entries.size()));
        }
        return ids.stream().map(this::anyOf).toList();
    }

    // ---- what processes do

    private void storeAlone(Machine machine, Entry entry) {
        handOver(entry);
        told(machine, entry, machine.process().tier().store(entry), "alone");
    }

    /** As {@code granary populate} and the outbox do it: once a look-up has met a lost pack, lost packs are taken off the manifest. */
    private void populate(Machine machine, List<Entry> some) {
        PackPublisher publisher = machine.process().packed().publisher(NAMESPACE);
        DuplicateFinder duplicates = machine.process().tier().duplicates();
        boolean hasForgotten = false;
        for (Entry entry : some) {
            handOver(entry);
            Optional<StoreResult> there = duplicates.find(entry);
            if (!hasForgotten && duplicates.hasFoundMissingPack(entry.id())) {
                hasForgotten = true;
                PackPublisher.Forgotten forgotten = publisher.forgetLost();
                lostPacksForgotten += forgotten instanceof PackPublisher.Forgotten.Done(int packs) ? packs : 0;
                trace(() -> "  " + machine.name() + " has met a lost pack: " + forgotten);
            }
            if (there.isPresent()) {
                told(machine, entry, there.get(), "looked up");
                continue;
            }
            int times = has(Feature.TWICE) && random.nextBoolean() ? 2 : 1;
            for (int i = 0; i < times; i++) {
                String said = i == 0 ? "in a pack" : "in a pack, the second time";
                if (!publisher.add(entry, result -> told(machine, entry, result, said))) {
                    told(machine, entry, machine.process().tier().store(entry), "alone, too large");
                }
            }
        }
        publisher.finish();
    }

    private void handOver(Entry entry) {
        handedOver.add(entry.id());
        outbox.put(entry.id(), entry);
    }

    private void told(Machine machine, Entry entry, StoreResult result, String said) {
        Id id = entry.id();
        trace(() -> "  " + machine.name() + " hears of " + Ledger.name(id) + ", " + said + ": " + result);
        Machine.Work work = machine.work();
        boolean isAcknowledged = result instanceof StoreResult.Stored || result instanceof StoreResult.Duplicate || result instanceof StoreResult.Divergent;
        if (isAcknowledged || isNoteForgotten(result)) {
            outbox.remove(id);
        }
        if (isAcknowledged) {
            everAcknowledged.add(id);
            if (!work.wasToldOfWhatIsGone() && !ledger.isRemovedSince(id, work.mark())) {
                ledger.acknowledge(id, machine.name() + ": " + result + ", " + said, said.endsWith("second time"));
            }
        }
    }

    /** As the queue of uploads does it: all refusals in histories are of a kind that passes, so that the next process tries again. */
    private static boolean isNoteForgotten(StoreResult result) {
        return result instanceof StoreResult.Refused && Boolean.getBoolean("granary.histories.forgetting");
    }

    private void load(Machine machine, Id id) {
        Optional<Ledger.Ack> before = ledger.acknowledged(id);
        LoadResult result = machine.process().tier().load(id);
        trace(() -> "  " + machine.name() + " gets " + result.getClass().getSimpleName());
        Machine.Work work = machine.work();
        boolean isMissed = result instanceof LoadResult.Absent || result instanceof LoadResult.Damaged;
        boolean isKnown = before.isPresent() && before.get().atMillis() <= work.fromMillis() - KNOWN_MILLIS && !ledger.isRemovedSince(id, work.mark());
        if (isMissed && isKnown && !work.hadTrouble() && !machine.isLong(work) && machine.calmMillis() > KNOWN_MILLIS && machine.mayList() && ledger.lost(Set.of(id), true).isEmpty()) {
            throw new Violation(Shape.B7_ABSENT_BY_OLD_STATE, machine.name() + " gets " + result + " for " + Ledger.name(id)
                    + ", which everybody finds who starts anew, and of which was said: " + before.get());
        }
    }

    private void compact(Machine machine, PackManifest.Loose loose) {
        Object outcome = compacted(machine, loose);
        trace(() -> "  " + machine.name() + " has compacted: " + outcome);
    }

    private static Object compacted(Machine machine, PackManifest.Loose loose) {
        Object last = "nothing";
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            switch (machine.process().packed().compactor(NAMESPACE).plan(GRACE)) {
                case PackCompactor.Planned.Unavailable lost -> {
                    return lost;
                }
                case PackCompactor.Planned.Ready ready -> {
                    last = machine.process().packed().compactor(NAMESPACE).run(ready.plan(), loose, _ -> {});
                    if (!(last instanceof PackCompactor.Result.Overtaken)) {
                        return last;
                    }
                }
            }
        }
        return last;
    }

    private void warm(Machine machine) {
        machine.whole(() -> {
            Optional<Set<Sha256>> warmed = warmed(machine);
            trace(() -> "  " + machine.name() + " is warmed with " + warmed.map(Set::size));
            if (warmed.isEmpty() && machine.calmMillis() < LEFT_ALONE_MILLIS) {
                return; // the bucket is left alone after trouble, which is told
            }
            Set<Sha256> arrived = warmed.orElse(Set.of());
            for (List<Entry> one : entries) {
                Id id = one.getFirst().id();
                if (ledger.acknowledged(id).isPresent() && !arrived.contains(id.hash()) && machine.mayList() && bucket.keepsMarks()) {
                    throw new Violation(Shape.NOT_WARMED, machine.name() + " is warmed, and has not got " + Ledger.name(id));
                }
            }
        });
    }

    /** What arrived; empty if the newest manifest cannot be read. */
    private static Optional<Set<Sha256>> warmed(Machine machine) {
        Set<Sha256> arrived = ConcurrentHashMap.newKeySet();
        if (!(machine.process().packed().manifests(NAMESPACE).newest(PackManifest.NONE) instanceof PackManifestLog.Newest.Found(PackManifest newest))) {
            return Optional.empty();
        }
        try {
            BulkEntryReader warming = SequentialReading.of(machine.process().packed().bulkReader(NAMESPACE));
            BulkReadPlan plan = warming.plan(newest, BulkEntryReader.Alone.READ, _ -> true);
            warming.run(plan, new BulkEntryReader.Receiver() {
                @Override
                public void entries(List<BulkEntryReader.Arrival> arrivals) {
                    arrivals.forEach(arrival -> arrived.add(arrival.entry().id().hash()));
                }

                @Override
                public void skipped(int entries, long bytes, String cause) {
                    // seen by what did not arrive
                }

                @Override
                public void received(long bytes) {
                    // of no interest
                }
            });
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return Optional.of(arrived);
    }

    // ---- what happens to the bucket

    private void happen() {
        boolean mayTakeLong = has(Feature.SUSPENSION) || machines.stream().allMatch(Machine::isIdle);
        switch (draw(4, 3, 3, 3, 4, 1, 1, 1)) {
            case 1 -> pass(mayTakeLong, TimeUnit.MINUTES.toMillis(random.nextInt(1, 30)));
            case 2 -> pass(mayTakeLong && has(Feature.DAYS), TimeUnit.HOURS.toMillis(random.nextInt(1, 30)));
            case 3 -> pass(mayTakeLong && has(Feature.DAYS), TimeUnit.HOURS.toMillis(random.nextLong(24, retention.toHours())));
            case 4 -> {
                if (has(Feature.RULE)) {
                    applyRule();
                }
            }
            case 5 -> {
                if (has(Feature.REMOVAL)) {
                    anyKey().ifPresent(this::take);
                }
            }
            case 6 -> {
                if (has(Feature.DAMAGE)) {
                    anyKey().ifPresent(this::cut);
                }
            }
            case 7 -> bucket.land();
            default -> pass(true, TimeUnit.SECONDS.toMillis(random.nextInt(1, 8)));
        }
    }

    private void pass(boolean isPossible, long millis) {
        if (isPossible) {
            if (millis >= TimeUnit.MINUTES.toMillis(1)) {
                bucket.land();
            }
            bucket.pass(millis);
            trace(() -> Duration.ofMillis(millis) + " pass");
        }
    }

    private void applyRule() {
        long before = bucket.nowMillis() - retention.toMillis();
        bucket.objects().forEach((key, stored) -> {
            if (stored.writtenMillis() < before && !key.endsWith("granary.json") && !(has(Feature.RAGGED_RULE) && random.nextBoolean())) {
                trace(() -> "the rule removes " + Ledger.shorten(key));
                ledger.takenByRule(key, before);
                bucket.delete(key);
            }
        });
    }

    private Optional<String> anyKey() {
        boolean isAnybodyBusy = !machines.stream().allMatch(Machine::isIdle);
        List<String> keys = bucket.objects().keySet().stream()
                .filter(key -> !key.endsWith("granary.json") && ledger.mayBeTaken(key, isAnybodyBusy)).toList();
        return keys.isEmpty() ? Optional.empty() : Optional.of(keys.get(random.nextInt(keys.size())));
    }

    private void take(String key) {
        trace(() -> "somebody removes " + Ledger.shorten(key));
        ledger.taken(key);
        bucket.delete(key);
    }

    private void cut(String key) {
        trace(() -> "damage cuts " + Ledger.shorten(key));
        ledger.taken(key);
        bucket.cut(key);
    }

    // ---- the end

    /** Everything under way ends; then, without any trouble, everything must come to be well. */
    private void end() {
        trace(() -> "the end begins");
        List<Machine> busy = machines.stream().filter(machine -> !machine.isIdle()).toList();
        while (!busy.isEmpty()) {
            goOn(busy.get(random.nextInt(busy.size())));
            busy = machines.stream().filter(machine -> !machine.isIdle()).toList();
        }
        isOver = true;
        bucket.land();
        ledger.judge();
        pass(true, TimeUnit.MINUTES.toMillis(10));
        trace(() -> "from here on nothing goes wrong");
        if (ledger.isHintAstray() && machines.stream().noneMatch(Machine::mayList)) {
            return; // nobody can find the newest manifest, which every publication tells
        }
        Machine first = publishing();
        for (int attempt = 0; attempt < LAST_ATTEMPTS && !outbox.isEmpty(); attempt++) {
            List<Entry> noted = List.copyOf(outbox.values());
            calmly(first, "the outbox's rest", () -> populate(first, noted));
            pass(true, LEFT_ALONE_MILLIS);
        }
        handedOver.stream().filter(id -> !everAcknowledged.contains(id)).findFirst().ifPresent(id -> {
            throw new Violation(bucket.keepsMarks() ? outbox.containsKey(id) ? stuck(first) : Shape.B6_GIVEN_UP_AFTER_REFUSAL : Shape.S4_METADATA_STRIPPED,
                    Ledger.name(id) + " was handed over and is published by nobody");
        });
        Machine second = publishing();
        List<Entry> all = entries.stream().map(List::getFirst).toList();
        for (int attempt = 0; attempt < LAST_ATTEMPTS && (attempt == 0 || all.stream().anyMatch(this::isUnacknowledged)); attempt++) {
            calmly(second, "populate all", () -> populate(second, all));
            pass(true, LEFT_ALONE_MILLIS);
        }
        all.stream().filter(this::isUnacknowledged).findFirst().ifPresent(entry -> {
            throw new Violation(bucket.keepsMarks() ? stuck(second) : Shape.S4_METADATA_STRIPPED, Ledger.name(entry.id()) + " cannot be published");
        });
        compactAtLast();
        Machine last = machines.get(random.nextInt(machines.size()));
        calmly(last, "warm", () -> warm(last));
    }

    private boolean isUnacknowledged(Entry entry) {
        return ledger.acknowledged(entry.id()).isEmpty();
    }

    /** Any machine; where the hint leads nowhere, one that may list, as the documentation says. */
    private Machine publishing() {
        List<Machine> able = machines.stream().filter(machine -> machine.mayList() || !ledger.isHintAstray()).toList();
        return able.get(random.nextInt(able.size()));
    }

    private static Shape stuck(Machine machine) {
        return machine.mayList() ? Shape.STUCK : Shape.B2_READER_WITHOUT_LISTING;
    }

    private void compactAtLast() {
        List<Machine> able = machines.stream().filter(Machine::mayList).toList();
        for (int i = 0; i < 2 && !able.isEmpty(); i++) {
            Machine machine = able.get(random.nextInt(able.size()));
            calmly(machine, "compact", () -> {
                Object outcome = compacted(machine, PackManifest.Loose.ALLOWED);
                if (!(outcome instanceof PackCompactor.Result.Done)) {
                    pass(true, LEFT_ALONE_MILLIS);
                    outcome = compacted(machine, PackManifest.Loose.ALLOWED);
                }
                Object last = outcome;
                trace(() -> "  " + last);
                if (!(outcome instanceof PackCompactor.Result.Done)) {
                    throw new Violation(bucket.keepsMarks() ? Shape.STUCK : Shape.S4_METADATA_STRIPPED, "compacting without trouble ends in " + outcome);
                }
            });
            if (!ledger.namedAndMissing().isEmpty()) {
                throw new Violation(Shape.NAMED_AND_MISSING, Ledger.describe(ledger.seenManifest()) + " after compacting, of which is missing "
                        + ledger.namedAndMissing().stream().map(Ledger::shorten).toList());
            }
            pass(true, TimeUnit.DAYS.toMillis(2));
        }
    }

    private void calmly(Machine machine, String what, Runnable task) {
        begin(machine, what, what.equals("compact") ? Ledger.Remover.COMPACTOR : Ledger.Remover.PUBLISHER, task);
        if (!machine.isIdle()) {
            throw new IllegalStateException("The end is not interrupted");
        }
    }
}
