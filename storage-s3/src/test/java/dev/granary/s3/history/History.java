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
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
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
 * One random history of a fleet over one bucket. All random choices derive from its number and the
 * seed, also which machine sends the next request. Time is that of the bucket's clock. The same
 * number thus gives the same history.
 */
final class History {
    /** A time further ahead than any skew, which only the real clock has. */
    static final long FAR_MILLIS = TimeUnit.DAYS.toMillis(3650) / 10;

    private static final String NAMESPACE = TestEntries.TARGET.path();
    private static final Duration GRACE = Duration.ofDays(1);

    /** The time after which processes with an older state find an acknowledged entry. */
    private static final long VISIBLE_AFTER_MILLIS = TimeUnit.MINUTES.toMillis(10);

    private static final int ATTEMPTS = 5;

    /** The number of attempts at the end: the circuit breaker of a process may still be open. */
    private static final int LAST_ATTEMPTS = 2;

    /** The longest time for which a process may skip the bucket after faults. */
    private static final long BREAKER_OPEN_MILLIS = TimeUnit.SECONDS.toMillis(60);

    private final SplittableRandom random;
    private final Trace trace;
    private final Set<Feature> features = EnumSet.noneOf(Feature.class);
    private final List<Disturbance> faults = new ArrayList<>();
    private final double faultRate;
    private final double switchRate;
    private final Duration retention;
    private final Bucket bucket;
    private final Ledger ledger;
    private final S3Config config;
    private final Fibers fibers = new Fibers();
    private final List<Machine> machines = new ArrayList<>();
    // for each id, the contents that may be published
    private final List<List<Entry>> entries = new ArrayList<>();
    private final Map<Id, Entry> outbox = new LinkedHashMap<>();
    private final Set<Id> enqueued = new LinkedHashSet<>();
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
        this.faultRate = has(Feature.FAULTS) ? List.of(0.01, 0.04, 0.1).get(random.nextInt(3)) : 0;
        int kinds = random.nextInt(1, 5);
        for (int i = 0; i < kinds; i++) {
            faults.add(Disturbance.all().get(random.nextInt(Disturbance.all().size())));
        }
        this.switchRate = List.of(0.0, 0.05, 0.3).get(random.nextInt(3));
        this.retention = Duration.ofDays(random.nextBoolean() ? 90 : 10);
        boolean isWeaker = random.nextBoolean();
        this.bucket = new Bucket(
                !has(Feature.CREATE_ONLY)
                        ? Bucket.Matching.HONORED
                        : isWeaker ? Bucket.Matching.IGNORED : Bucket.Matching.REFUSED,
                !has(Feature.STRIPPED_METADATA));
        this.config = config().build();
        this.ledger = new Ledger(bucket, config, NAMESPACE, has(Feature.NO_LISTING));
        bucket.put(
                TestProcess.markerKey(config),
                TestProcess.marker(
                        config,
                        has(Feature.CREATE_ONLY)
                                ? ConditionalWriteSupport.CREATE_ONLY
                                : ConditionalWriteSupport.FULL),
                ObjectMarks.NONE);
        makeEntries(new TestEntries(name));
        makeMachines(directory);
    }

    private S3ConfigBuilder config() {
        return S3Config.builder("bucket").retention(retention);
    }

    private boolean has(Feature feature) {
        return features.contains(feature);
    }

    private void makeEntries(TestEntries maker) {
        int ids = random.nextInt(2, 9);
        for (int i = 0; i < ids; i++) {
            Id id = maker.id();
            List<Entry> contents = List.of(
                    maker.entry(id, 20 + random.nextInt(300)),
                    maker.entry(id, 20 + random.nextInt(300)));
            contents.forEach(ledger::content);
            entries.add(contents);
        }
    }

    private void makeMachines(Path directory) {
        int count = random.nextInt(2, 6);
        for (int i = 0; i < count; i++) {
            boolean mayList = !has(Feature.NO_LISTING) || random.nextBoolean();
            Optional<Path> indexDirectory = has(Feature.INDEX_CACHES) && random.nextInt(4) > 0
                    ? Optional.of(
                            directory.resolve(has(Feature.SHARED_INDEX_CACHE) ? "all" : "m" + i))
                    : Optional.empty();
            long skew = has(Feature.SKEW)
                    ? random.nextLong(-TimeUnit.DAYS.toMillis(2), TimeUnit.DAYS.toMillis(2))
                    : 0;
            machines.add(new Machine(
                    this,
                    bucket,
                    ledger,
                    config(),
                    new Machine.Kind("m" + i, mayList, indexDirectory, skew),
                    NAMESPACE,
                    random.split()));
        }
    }

    /**
     * Runs the history.
     *
     * @throws Violation if a promise does not hold
     */
    void run() {
        trace(() -> features + ", " + faults + " at " + faultRate + ", " + bucket.matching()
                + ", retention " + retention.toDays() + " days");
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

    /** Returns the number of lost packs that publishers removed from manifests. */
    long lostPacksForgotten() {
        return lostPacksForgotten;
    }

    // ---- called by the machines

    void trace(Supplier<String> line) {
        trace.add(line);
    }

    /** Lets other machines run, at random. */
    void yieldTurn(Machine machine) {
        bucket.pass(1 + random.nextInt(15));
        if (!isOver && random.nextDouble() < switchRate) {
            machine.stampManifestFile();
            machine.work().fiber().yieldTurn();
        }
    }

    Disturbance fault(Machine.Work work, String method) {
        if (isOver || random.nextDouble() >= faultRate) {
            return Disturbance.NONE;
        }
        List<Disturbance> fitting = faults.stream()
                .filter(one -> fits(one, method) && !(one.isFalse() && work.hasFalseResponse()))
                .toList();
        return fitting.isEmpty() ? Disturbance.NONE : fitting.get(random.nextInt(fitting.size()));
    }

    private static boolean fits(Disturbance fault, String method) {
        boolean isRead = method.equals("GET")
                || method.equals("RANGE")
                || method.equals("HEAD")
                || method.equals("LIST");
        return switch (fault) {
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

    // ---- the course of a history

    /** Runs one step; returns true if a process began a task. */
    private boolean step() {
        List<Machine> busy = machines.stream()
                .filter(machine -> !machine.isIdle() && !machine.isFrozen())
                .toList();
        List<Machine> idle = machines.stream().filter(Machine::isIdle).toList();
        machines.forEach(machine -> machine.thaw(1));
        int draw = random.nextInt(100);
        if (!busy.isEmpty() && draw < 60) {
            resume(busy.get(random.nextInt(busy.size())));
            return false;
        }
        if (!idle.isEmpty() && draw < 85) {
            begin(idle.get(random.nextInt(idle.size())));
            return true;
        }
        changeBucket();
        ledger.verify();
        return false;
    }

    private void resume(Machine machine) {
        machine.work().fiber().resume();
        if (!machine.work().fiber().isDone()) {
            if (has(Feature.SUSPENSION) && random.nextInt(8) == 0) {
                machine.freeze(random.nextInt(5, 40));
                trace(() ->
                        machine.name() + " is suspended in " + machine.work().task());
            }
        } else {
            machine.end();
        }
        ledger.verify();
    }

    private void begin(Machine machine) {
        switch (draw(5, 3, 5, 3, 1, 1)) {
            case 1 -> {
                if (has(Feature.UNPACKED)) {
                    Entry entry = anyEntry();
                    begin(
                            machine,
                            "store " + Ledger.name(entry.id()),
                            Ledger.Remover.PUBLISHER,
                            () -> storeUnpacked(machine, entry));
                }
            }
            case 2 -> {
                Id id = anyEntry().id();
                begin(
                        machine,
                        "load " + Ledger.name(id),
                        Ledger.Remover.PUBLISHER,
                        () -> load(machine, id));
            }
            case 3 -> {
                if (has(Feature.COMPACTION)) {
                    PackManifest.UnpackedEntries unpackedEntries =
                            has(Feature.SEALING) && random.nextBoolean()
                                    ? PackManifest.UnpackedEntries.NONE
                                    : PackManifest.UnpackedEntries.POSSIBLE;
                    begin(
                            machine,
                            unpackedEntries == PackManifest.UnpackedEntries.NONE
                                    ? "compact and seal"
                                    : "compact",
                            Ledger.Remover.COMPACTOR,
                            () -> compact(machine, unpackedEntries));
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
                begin(
                        machine,
                        "populate "
                                + some.stream()
                                        .map(entry -> Ledger.name(entry.id()))
                                        .toList(),
                        Ledger.Remover.PUBLISHER,
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
        work.setFiber(fibers.start(() -> {
            if (isBefore) {
                machine.runBackgroundTasks();
            }
            task.run();
            if (isAfter) {
                machine.runBackgroundTasks();
            }
        }));
        resume(machine);
    }

    private Entry anyEntry() {
        return anyOf(random.nextInt(entries.size()));
    }

    private Entry anyOf(int id) {
        return entries.get(id).get(random.nextInt(6) == 0 ? 1 : 0);
    }

    /** Returns a few entries, so that others remain to be published later. */
    private List<Entry> someEntries() {
        Set<Integer> ids = new TreeSet<>();
        int count = random.nextInt(1, 4);
        for (int i = 0; i < count; i++) {
            ids.add(random.nextInt(entries.size()));
        }
        return ids.stream().map(this::anyOf).toList();
    }

    // ---- tasks of processes

    private void storeUnpacked(Machine machine, Entry entry) {
        enqueue(entry);
        recordResult(machine, entry, machine.process().tier().store(entry), "unpacked");
    }

    /**
     * Publishes as {@code granary populate} and the outbox do: after a lookup has found a pack
     * lost, lost packs are removed from the manifest.
     */
    private void populate(Machine machine, List<Entry> some) {
        PackPublisher publisher = machine.process().packed().publisher(NAMESPACE);
        DuplicateFinder duplicates = machine.process().tier().duplicates();
        boolean hasForgotten = false;
        for (Entry entry : some) {
            enqueue(entry);
            Optional<StoreResult> there = duplicates.find(entry);
            if (!hasForgotten && duplicates.hasFoundMissingPack(entry.id())) {
                hasForgotten = true;
                PackPublisher.Forgotten forgotten = publisher.forgetLost();
                lostPacksForgotten +=
                        forgotten instanceof PackPublisher.Forgotten.Done(int packs) ? packs : 0;
                trace(() -> "  " + machine.name() + " has found a lost pack: " + forgotten);
            }
            if (there.isPresent()) {
                recordResult(machine, entry, there.get(), "looked up");
                continue;
            }
            int times = has(Feature.DUPLICATE_ADDS) && random.nextBoolean() ? 2 : 1;
            for (int i = 0; i < times; i++) {
                String source = i == 0 ? "in a pack" : "in a pack, the second time";
                if (!publisher.add(entry, result -> recordResult(machine, entry, result, source))) {
                    recordResult(
                            machine,
                            entry,
                            machine.process().tier().store(entry),
                            "unpacked, too large");
                }
            }
        }
        publisher.finish();
    }

    private void enqueue(Entry entry) {
        enqueued.add(entry.id());
        outbox.put(entry.id(), entry);
    }

    private void recordResult(Machine machine, Entry entry, StoreResult result, String source) {
        Id id = entry.id();
        trace(() -> "  " + machine.name() + " has the result for " + Ledger.name(id) + ", " + source
                + ": " + result);
        Machine.Work work = machine.work();
        boolean isAcknowledged = result instanceof StoreResult.Stored
                || result instanceof StoreResult.Duplicate
                || result instanceof StoreResult.Divergent;
        if (isAcknowledged || isOutboxEntryDropped(result)) {
            outbox.remove(id);
        }
        if (isAcknowledged) {
            everAcknowledged.add(id);
            if (!work.hasReadRemovedState() && !ledger.isRemovedSince(id, work.mark())) {
                ledger.acknowledge(
                        id,
                        machine.name() + ": " + result + ", " + source,
                        source.endsWith("second time"));
            }
        }
    }

    /**
     * Returns true if the upload queue drops the entry. All refusals in histories are temporary, so
     * that the next process tries again.
     */
    private static boolean isOutboxEntryDropped(StoreResult result) {
        return result instanceof StoreResult.Refused
                && Boolean.getBoolean("granary.histories.forgetting");
    }

    private void load(Machine machine, Id id) {
        Optional<Ledger.Ack> before = ledger.acknowledged(id);
        LoadResult result = machine.process().tier().load(id);
        trace(() -> "  " + machine.name() + " gets " + result.getClass().getSimpleName());
        Machine.Work work = machine.work();
        boolean isMissed =
                result instanceof LoadResult.Absent || result instanceof LoadResult.Damaged;
        boolean isKnown = before.isPresent()
                && before.get().atMillis() <= work.fromMillis() - VISIBLE_AFTER_MILLIS
                && !ledger.isRemovedSince(id, work.mark());
        if (isMissed
                && isKnown
                && !work.hadFault()
                && !machine.isLong(work)
                && machine.millisSinceFault() > VISIBLE_AFTER_MILLIS
                && machine.mayList()
                && ledger.lost(Set.of(id), true).isEmpty()) {
            throw new Violation(
                    Shape.B7_ABSENT_BY_OLD_STATE,
                    machine.name() + " gets " + result + " for " + Ledger.name(id)
                            + ", which a new process finds, acknowledged by: " + before.get());
        }
    }

    private void compact(Machine machine, PackManifest.UnpackedEntries unpackedEntries) {
        Object outcome = tryCompact(machine, unpackedEntries);
        trace(() -> "  " + machine.name() + " has compacted: " + outcome);
    }

    private static Object tryCompact(
            Machine machine, PackManifest.UnpackedEntries unpackedEntries) {
        Object last = "nothing";
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            switch (machine.process().packed().compactor(NAMESPACE).plan(GRACE)) {
                case PackCompactor.Planned.Unavailable unavailable -> {
                    return unavailable;
                }
                case PackCompactor.Planned.Ready ready -> {
                    last = machine.process()
                            .packed()
                            .compactor(NAMESPACE)
                            .run(ready.plan(), unpackedEntries, _ -> {});
                    if (!(last instanceof PackCompactor.Result.Overtaken)) {
                        return last;
                    }
                }
            }
        }
        return last;
    }

    private void warm(Machine machine) {
        machine.runUndisturbed(() -> {
            Optional<Set<Sha256>> warmedIds = warmedIds(machine);
            trace(() -> "  " + machine.name() + " is warmed with " + warmedIds.map(Set::size));
            if (warmedIds.isEmpty() && machine.millisSinceFault() < BREAKER_OPEN_MILLIS) {
                return; // the breaker is open after faults, which is reported
            }
            Set<Sha256> arrived = warmedIds.orElse(Set.of());
            for (List<Entry> one : entries) {
                Id id = one.getFirst().id();
                if (ledger.acknowledged(id).isPresent()
                        && !arrived.contains(id.hash())
                        && machine.mayList()
                        && bucket.keepsMarks()) {
                    throw new Violation(
                            Shape.NOT_WARMED,
                            machine.name() + " was warmed without receiving " + Ledger.name(id));
                }
            }
        });
    }

    /** Returns the ids that were received; empty if the newest manifest cannot be read. */
    private static Optional<Set<Sha256>> warmedIds(Machine machine) {
        Set<Sha256> arrived = ConcurrentHashMap.newKeySet();
        if (!(machine.process().packed().manifests(NAMESPACE).newest(PackManifest.NONE)
                instanceof PackManifestLog.Newest.Found(PackManifest newest))) {
            return Optional.empty();
        }
        try {
            BulkEntryReader reader =
                    SequentialReading.of(machine.process().packed().bulkReader(NAMESPACE));
            BulkReadPlan plan =
                    reader.plan(newest, BulkEntryReader.UnpackedEntries.READ, _ -> true);
            reader.run(plan, new BulkEntryReader.Receiver() {
                @Override
                public void entries(List<BulkEntryReader.Arrival> arrivals) {
                    arrivals.forEach(arrival -> arrived.add(arrival.entry().id().hash()));
                }

                @Override
                public void skipped(int entries, long bytes, String cause) {
                    // shown by the missing entries
                }

                @Override
                public void received(long bytes) {
                    // unused
                }
            });
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return Optional.of(arrived);
    }

    // ---- changes of the bucket

    private void changeBucket() {
        boolean mayTakeLong =
                has(Feature.SUSPENSION) || machines.stream().allMatch(Machine::isIdle);
        switch (draw(4, 3, 3, 3, 4, 1, 1, 1)) {
            case 1 -> pass(mayTakeLong, TimeUnit.MINUTES.toMillis(random.nextInt(1, 30)));
            case 2 ->
                pass(
                        mayTakeLong && has(Feature.DAYS),
                        TimeUnit.HOURS.toMillis(random.nextInt(1, 30)));
            case 3 ->
                pass(
                        mayTakeLong && has(Feature.DAYS),
                        TimeUnit.HOURS.toMillis(random.nextLong(24, retention.toHours())));
            case 4 -> {
                if (has(Feature.RULE)) {
                    applyRule();
                }
            }
            case 5 -> {
                if (has(Feature.REMOVAL)) {
                    anyKey().ifPresent(this::remove);
                }
            }
            case 6 -> {
                if (has(Feature.DAMAGE)) {
                    anyKey().ifPresent(this::truncate);
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
            if (stored.writtenMillis() < before
                    && !key.endsWith("granary.json")
                    && !(has(Feature.RAGGED_RULE) && random.nextBoolean())) {
                trace(() -> "the rule removes " + Ledger.shorten(key));
                ledger.beforeExpiry(key, before);
                bucket.delete(key);
            }
        });
    }

    private Optional<String> anyKey() {
        boolean isAnyBusy = !machines.stream().allMatch(Machine::isIdle);
        List<String> keys = bucket.objects().keySet().stream()
                .filter(key -> !key.endsWith("granary.json") && ledger.mayBeRemoved(key, isAnyBusy))
                .toList();
        return keys.isEmpty()
                ? Optional.empty()
                : Optional.of(keys.get(random.nextInt(keys.size())));
    }

    private void remove(String key) {
        trace(() -> "the owner removes " + Ledger.shorten(key));
        ledger.beforeRemoval(key);
        bucket.delete(key);
    }

    private void truncate(String key) {
        trace(() -> "damage cuts " + Ledger.shorten(key));
        ledger.beforeRemoval(key);
        bucket.cut(key);
    }

    // ---- the end

    /** Ends all tasks; then, without faults, all entries must become published and found. */
    private void end() {
        trace(() -> "the end begins");
        List<Machine> busy =
                machines.stream().filter(machine -> !machine.isIdle()).toList();
        while (!busy.isEmpty()) {
            resume(busy.get(random.nextInt(busy.size())));
            busy = machines.stream().filter(machine -> !machine.isIdle()).toList();
        }
        isOver = true;
        bucket.land();
        ledger.verify();
        pass(true, TimeUnit.MINUTES.toMillis(10));
        trace(() -> "from here on there are no faults");
        if (ledger.isHintDangling() && machines.stream().noneMatch(Machine::mayList)) {
            return; // no machine can find the newest manifest, which every publication reports
        }
        Machine first = anyPublisher();
        for (int attempt = 0; attempt < LAST_ATTEMPTS && !outbox.isEmpty(); attempt++) {
            List<Entry> queued = List.copyOf(outbox.values());
            runWithoutFaults(first, "the rest of the outbox", () -> populate(first, queued));
            pass(true, BREAKER_OPEN_MILLIS);
        }
        enqueued.stream()
                .filter(id -> !everAcknowledged.contains(id))
                .findFirst()
                .ifPresent(id -> {
                    throw new Violation(
                            bucket.keepsMarks()
                                    ? outbox.containsKey(id)
                                            ? stuckShape(first)
                                            : Shape.B6_GIVEN_UP_AFTER_REFUSAL
                                    : Shape.S4_METADATA_STRIPPED,
                            Ledger.name(id) + " was enqueued and is not published");
                });
        Machine second = anyPublisher();
        List<Entry> all = entries.stream().map(List::getFirst).toList();
        for (int attempt = 0;
                attempt < LAST_ATTEMPTS
                        && (attempt == 0 || all.stream().anyMatch(this::isUnacknowledged));
                attempt++) {
            runWithoutFaults(second, "populate all", () -> populate(second, all));
            pass(true, BREAKER_OPEN_MILLIS);
        }
        all.stream().filter(this::isUnacknowledged).findFirst().ifPresent(entry -> {
            throw new Violation(
                    bucket.keepsMarks() ? stuckShape(second) : Shape.S4_METADATA_STRIPPED,
                    Ledger.name(entry.id()) + " cannot be published");
        });
        compactAtEnd();
        Machine last = machines.get(random.nextInt(machines.size()));
        runWithoutFaults(last, "warm", () -> warm(last));
    }

    private boolean isUnacknowledged(Entry entry) {
        return ledger.acknowledged(entry.id()).isEmpty();
    }

    /** Returns any machine; if the hint leads nowhere, one that may list, as documented. */
    private Machine anyPublisher() {
        List<Machine> able = machines.stream()
                .filter(machine -> machine.mayList() || !ledger.isHintDangling())
                .toList();
        return able.get(random.nextInt(able.size()));
    }

    private static Shape stuckShape(Machine machine) {
        return machine.mayList() ? Shape.STUCK : Shape.B2_READER_WITHOUT_LISTING;
    }

    private void compactAtEnd() {
        List<Machine> able = machines.stream().filter(Machine::mayList).toList();
        for (int i = 0; i < 2 && !able.isEmpty(); i++) {
            Machine machine = able.get(random.nextInt(able.size()));
            runWithoutFaults(machine, "compact", () -> {
                Object outcome = tryCompact(machine, PackManifest.UnpackedEntries.POSSIBLE);
                if (!(outcome instanceof PackCompactor.Result.Done)) {
                    pass(true, BREAKER_OPEN_MILLIS);
                    outcome = tryCompact(machine, PackManifest.UnpackedEntries.POSSIBLE);
                }
                Object last = outcome;
                trace(() -> "  " + last);
                if (!(outcome instanceof PackCompactor.Result.Done)) {
                    throw new Violation(
                            bucket.keepsMarks() ? Shape.STUCK : Shape.S4_METADATA_STRIPPED,
                            "compacting without faults ends in " + outcome);
                }
            });
            if (!ledger.namedAndMissing().isEmpty()) {
                throw new Violation(
                        Shape.NAMED_AND_MISSING,
                        Ledger.describe(ledger.visibleManifest())
                                + " after compacting, of which these are missing: "
                                + ledger.namedAndMissing().stream()
                                        .map(Ledger::shorten)
                                        .toList());
            }
            pass(true, TimeUnit.DAYS.toMillis(2));
        }
    }

    private void runWithoutFaults(Machine machine, String what, Runnable task) {
        begin(
                machine,
                what,
                what.equals("compact") ? Ledger.Remover.COMPACTOR : Ledger.Remover.PUBLISHER,
                task);
        if (!machine.isIdle()) {
            throw new IllegalStateException("The end is not interrupted");
        }
    }
}
