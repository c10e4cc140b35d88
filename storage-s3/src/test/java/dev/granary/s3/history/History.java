package dev.granary.s3.history;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.CollectionPlan;
import dev.granary.s3.TestProcess;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkReadPlan;
import dev.granary.s3.pack.warm.SequentialReading;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.testing.TestSeed;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.HexFormat;
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
import java.util.stream.Collectors;

/**
 * One random history of a fleet over one bucket. All random choices derive from its number and the
 * seed, also which machine sends the next request. Time is that of the bucket's clock. The same
 * number thus gives the same history.
 */
final class History implements Course {
    /** A time further ahead than any skew, which only the real clock has. */
    static final long FAR_MILLIS = TimeUnit.DAYS.toMillis(3650) / 10;

    private static final String NAMESPACE = TestEntries.TARGET.path();

    /** The time after which processes with an older state find an acknowledged entry. */
    private static final long VISIBLE_AFTER_MILLIS = TimeUnit.MINUTES.toMillis(10);

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
    private final List<byte[]> heads = new ArrayList<>();
    private long notes;
    private int pinned;
    private boolean isOver;

    History(long number, Path directory, boolean isTraced) {
        String name = "history " + number;
        this.random = TestSeed.random(name);
        this.trace = new Trace(isTraced);
        for (Feature feature : Feature.values()) {
            if (random.nextDouble() < feature.probability()) {
                features.add(feature);
            }
        }
        if (has(Feature.HEAD_LOSS)) {
            // the date of a new register must not be below that of the old one
            features.remove(Feature.TWO_CLOCKS);
        }
        this.faultRate = has(Feature.FAULTS) ? List.of(0.01, 0.04, 0.1).get(random.nextInt(3)) : 0;
        int kinds = random.nextInt(1, 5);
        for (int i = 0; i < kinds; i++) {
            faults.add(Disturbance.all().get(random.nextInt(Disturbance.all().size())));
        }
        this.switchRate = List.of(0.0, 0.05, 0.3).get(random.nextInt(3));
        boolean isWeaker = random.nextBoolean();
        this.bucket = new Bucket(
                !has(Feature.CREATE_ONLY) && !has(Feature.IGNORED)
                        ? Bucket.Matching.HONORED
                        : isWeaker || has(Feature.IGNORED)
                                ? Bucket.Matching.IGNORED
                                : Bucket.Matching.REFUSED);
        this.config = config().build();
        this.ledger = new Ledger(bucket, config, NAMESPACE, has(Feature.NO_LISTING));
        bucket.put(
                TestProcess.markerKey(config),
                TestProcess.marker(
                        config,
                        has(Feature.CREATE_ONLY)
                                ? ConditionalWriteSupport.CREATE_ONLY
                                : ConditionalWriteSupport.FULL));
        if (has(Feature.NEARLY_FULL)) {
            FullTarget.NEARLY_FULL.place(bucket, ledger);
        }
        makeEntries(new TestEntries(name));
        makeMachines(directory);
    }

    private S3ConfigBuilder config() {
        return S3Config.builder("bucket");
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
        trace(() -> features + ", " + faults + " at " + faultRate + ", " + bucket.matching());
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

    // ---- called by the machines

    @Override
    public void trace(Supplier<String> line) {
        trace.add(line);
    }

    @Override
    public void yieldTurn(Machine machine, String method, String key) {
        bucket.pass(1 + random.nextInt(15));
        if (!isOver && random.nextDouble() < switchRate) {
            machine.stampHeadFile();
            machine.work().fiber().yieldTurn();
        }
    }

    @Override
    public Disturbance fault(Machine machine, String method, String key) {
        Machine.Work work = machine.work();
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
            case TRUNCATED, SWAPPED, TOO_LARGE -> method.equals("GET") || method.equals("RANGE");
            case STALE -> isRead;
            case BARE -> isRead && !method.equals("LIST");
        };
    }

    @Override
    public boolean hasOtherClock() {
        return has(Feature.TWO_CLOCKS) && !isOver && random.nextInt(3) == 0;
    }

    @Override
    public int lag() {
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
        switch (draw(5, 3, 5, 3, 1, 1, 2, 2, 1)) {
            case 1 -> {
                if (has(Feature.UNPACKED)) {
                    Entry entry = anyEntry();
                    begin(
                            machine,
                            "store " + Ledger.name(entry.id()),
                            Set.of(),
                            () -> storeUnpacked(machine, entry));
                }
            }
            case 2 -> {
                Id id = anyEntry().id();
                begin(machine, "load " + Ledger.name(id), Set.of(), () -> load(machine, id));
            }
            case 3 -> {
                if (has(Feature.COMPACTION)) {
                    beginCompaction(machine);
                }
            }
            case 4 -> {
                if (has(Feature.WARMING)) {
                    begin(machine, "warm", Set.of(), () -> warm(machine));
                }
            }
            case 5 -> {
                machine.reboot();
                trace(() -> machine.name() + " starts a new process");
            }
            case 6 -> {
                if (has(Feature.COLLECTION)) {
                    beginCollection(machine);
                }
            }
            case 7 -> {
                if (has(Feature.COLLECTION)) {
                    Set<Id> used = someIds();
                    String note = HexFormat.of().toHexDigits(notes++);
                    begin(machine, "note " + names(used), Set.of(), () -> machine.note(used, note));
                }
            }
            case 8 -> {
                if (has(Feature.COLLECTION)) {
                    beginPinning(machine);
                }
            }
            default -> {
                List<Entry> some = someEntries();
                begin(
                        machine,
                        "populate "
                                + some.stream()
                                        .map(entry -> Ledger.name(entry.id()))
                                        .toList(),
                        Set.of(),
                        () -> populate(machine, some));
            }
        }
    }

    private void beginCompaction(Machine machine) {
        Set<Id> without = has(Feature.LEAVING_OUT) && random.nextBoolean()
                ? Set.of(anyEntry().id())
                : Set.of();
        boolean isAdopting = has(Feature.ADOPTION) && random.nextBoolean();
        begin(
                machine,
                "compact" + (isAdopting ? ", adopt" : "")
                        + without.stream()
                                .map(id -> ", without " + Ledger.name(id))
                                .toList(),
                without,
                () -> compact(machine, without, isAdopting));
    }

    private void beginCollection(Machine machine) {
        CollectionPlan.Rules rules = new CollectionPlan.Rules(
                "",
                random.nextInt(1, 5),
                random.nextInt(4) == 0 ? 0 : Long.MAX_VALUE,
                random.nextInt(4) == 0);
        // a collection compacts
        begin(machine, "collect, compact, " + rules, Set.of(), () -> {
            String outcome = machine.collect(rules, has(Feature.TWO_CLOCKS));
            trace(() -> machine.name() + " has collected: " + outcome);
        });
    }

    private void beginPinning(Machine machine) {
        if (pinned > 0 && random.nextBoolean()) {
            String pin = "p" + random.nextInt(pinned);
            begin(machine, "unpin " + pin, Set.of(), () -> machine.unpin(pin));
            return;
        }
        Set<Id> ids = someIds();
        String pin = "p" + pinned++; // a new one: a late removal must not remove a later pin
        begin(machine, "pin " + pin + " " + names(ids), Set.of(), () -> machine.pin(pin, ids));
    }

    private Set<Id> someIds() {
        return someEntries().stream().map(Entry::id).collect(Collectors.toSet());
    }

    private static List<String> names(Set<Id> ids) {
        return ids.stream().map(Ledger::name).sorted().toList();
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

    private void begin(Machine machine, String what, Set<Id> leavingOut, Runnable task) {
        trace(() -> machine.name() + " begins: " + what);
        Machine.Work work = new Machine.Work(what, leavingOut, bucket.nowMillis(), ledger.mark());
        machine.begin(work);
        ledger.withdraw(leavingOut);
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

    /** Publishes as {@code granary populate} and the outbox do. */
    private void populate(Machine machine, List<Entry> some) {
        for (Entry entry : some) {
            enqueue(entry);
            int times = has(Feature.DUPLICATE_ADDS) && random.nextBoolean() ? 2 : 1;
            machine.upload(
                    entry, times, (result, source) -> recordResult(machine, entry, result, source));
        }
        machine.finishUpload();
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
        if (isAcknowledged) {
            outbox.remove(id);
        }
        if (isAcknowledged) {
            everAcknowledged.add(id);
            if (!work.hasReadRemovedState() && !ledger.isRemovedSince(id, work.mark())) {
                ledger.acknowledge(
                        id,
                        machine.name() + ": " + result + ", " + source,
                        source.endsWith("second time"),
                        result instanceof StoreResult.Stored ? work.fromMillis() : 0);
            }
        }
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
                    Shape.ABSENT_BY_OLD_STATE,
                    machine.name() + " gets " + result + " for " + Ledger.name(id)
                            + ", which a new process finds, acknowledged by: " + before.get());
        }
    }

    private void compact(Machine machine, Set<Id> without, boolean isAdopting) {
        String outcome = machine.compact(without, isAdopting);
        trace(() -> "  " + machine.name() + " has compacted: " + outcome);
    }

    private void warm(Machine machine) {
        machine.runUndisturbed(() -> {
            Optional<Set<Sha256>> warmedIds = warmedIds(machine);
            trace(() -> "  " + machine.name() + " is warmed with " + warmedIds.map(Set::size));
            if (warmedIds.isEmpty()) {
                return; // the head or base is damaged, or the breaker open, which is reported
            }
            Set<Sha256> arrived = warmedIds.get();
            for (List<Entry> one : entries) {
                Id id = one.getFirst().id();
                if (ledger.acknowledged(id).isPresent()
                        && !arrived.contains(id.hash())
                        && machine.mayList()) {
                    throw new Violation(
                            Shape.NOT_WARMED,
                            machine.name() + " was warmed without receiving " + Ledger.name(id));
                }
            }
        });
    }

    /** Returns the ids that were received; empty if the packs cannot be read. */
    private static Optional<Set<Sha256>> warmedIds(Machine machine) {
        Set<Sha256> arrived = ConcurrentHashMap.newKeySet();
        try {
            BulkEntryReader reader =
                    SequentialReading.of(machine.process().packed().bulkReader(NAMESPACE));
            BulkReadPlan plan = reader.plan(BulkEntryReader.UnpackedEntries.READ, _ -> true);
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
        } catch (IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return Optional.of(arrived);
    }

    // ---- changes of the bucket

    private void changeBucket() {
        boolean mayTakeLong =
                has(Feature.SUSPENSION) || machines.stream().allMatch(Machine::isIdle);
        switch (draw(4, 3, 3, 3, 2, 2, 2, 2, 1)) {
            case 1 -> pass(mayTakeLong, TimeUnit.MINUTES.toMillis(random.nextInt(1, 30)));
            case 2 ->
                pass(
                        mayTakeLong && has(Feature.DAYS),
                        TimeUnit.HOURS.toMillis(random.nextInt(1, 30)));
            case 3 ->
                pass(
                        mayTakeLong && has(Feature.DAYS),
                        TimeUnit.HOURS.toMillis(random.nextLong(24, TimeUnit.DAYS.toHours(90))));
            case 4 -> {
                if (has(Feature.REMOVAL)) {
                    anyKey().ifPresent(this::remove);
                }
            }
            case 5 -> {
                if (has(Feature.DAMAGE)) {
                    anyKey().ifPresent(this::damage);
                }
            }
            case 6 -> {
                if (has(Feature.LIES)) {
                    anyKey().ifPresent(this::lie);
                }
            }
            case 7 -> {
                if (has(Feature.HEAD_LOSS)) {
                    changeHead();
                }
            }
            case 8 -> bucket.land();
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

    /** Returns the key of any object except for the marker and the head. */
    private Optional<String> anyKey() {
        List<String> found = bucket.objects().keySet().stream()
                .filter(key -> !key.endsWith("granary.json")
                        && !key.equals(ledger.keys().head())
                        && ledger.mayBeTouched(key))
                .toList();
        return found.isEmpty()
                ? Optional.empty()
                : Optional.of(found.get(random.nextInt(found.size())));
    }

    private void remove(String key) {
        trace(() -> "the owner removes " + Ledger.shorten(key));
        ledger.beforeRemoval(key);
        ledger.unpinned(key);
        bucket.delete(key);
    }

    private void damage(String key) {
        boolean isEtagKept = random.nextBoolean();
        boolean isCut = random.nextBoolean();
        trace(() -> "damage " + (isCut ? "cuts " : "changes ") + Ledger.shorten(key)
                + (isEtagKept ? ", with its ETag" : ""));
        ledger.beforeRemoval(key);
        bucket.damage(key, isEtagKept, body -> {
            if (isCut) {
                return Arrays.copyOf(body, body.length / 3);
            }
            body[random.nextInt(body.length)] ^= 1;
            return body;
        });
    }

    private void lie(String key) {
        Bucket.Lie lie =
                List.of(Bucket.Lie.values()).get(random.nextInt(Bucket.Lie.values().length));
        trace(() -> "from now on the server lies about " + Ledger.shorten(key) + ": " + lie);
        ledger.beforeRemoval(key);
        bucket.lie(key, Optional.of(lie));
    }

    /** Removes the head, empties it, or sets it back to an earlier one. */
    private void changeHead() {
        String key = ledger.keys().head();
        Optional<Bucket.Stored> stored = bucket.stored(key);
        if (stored.isEmpty()) {
            return;
        }
        heads.add(stored.get().body());
        // a deleter below a boundary does not stop when an earlier head comes back
        boolean mayBeSetBack = machines.stream()
                .noneMatch(
                        machine -> !machine.isIdle() && machine.work().task().contains("compact"));
        int how = random.nextInt(mayBeSetBack ? 3 : 2);
        trace(() -> "the head is " + List.of("removed", "emptied", "set back").get(how));
        bucket.land();
        ledger.beforeRemoval(key);
        switch (how) {
            case 0 -> bucket.delete(key);
            case 1 -> bucket.damage(key, false, _ -> new byte[0]);
            default -> bucket.put(key, heads.get(random.nextInt(heads.size())));
        }
        ledger.headChanged(how == 2);
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
        endLies();
        compactAtEnd(true);
        Machine first = anyMachine();
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
                            Shape.STUCK, Ledger.name(id) + " was enqueued and is not published");
                });
        Machine second = anyMachine();
        List<Entry> all = entries.stream().map(List::getFirst).toList();
        for (int attempt = 0;
                attempt < LAST_ATTEMPTS
                        && (attempt == 0 || all.stream().anyMatch(this::isUnacknowledged));
                attempt++) {
            runWithoutFaults(second, "populate all", () -> populate(second, all));
            pass(true, BREAKER_OPEN_MILLIS);
        }
        all.stream().filter(this::isUnacknowledged).findFirst().ifPresent(entry -> {
            throw new Violation(Shape.STUCK, Ledger.name(entry.id()) + " cannot be published");
        });
        compactAtEnd(false);
        Machine last = anyMachine();
        runWithoutFaults(last, "warm", () -> warm(last));
    }

    private boolean isUnacknowledged(Entry entry) {
        return ledger.acknowledged(entry.id()).isEmpty();
    }

    private Machine anyMachine() {
        return machines.get(random.nextInt(machines.size()));
    }

    /** The server is mended; the damage stays. */
    private void endLies() {
        bucket.objects().keySet().forEach(key -> bucket.lie(key, Optional.empty()));
    }

    /** Compacts until no pack is missing: each compaction drops one that is lost. */
    private void compactAtEnd(boolean isAdopting) {
        List<Machine> able = machines.stream().filter(Machine::mayList).toList();
        if (able.isEmpty() || bucket.matching() != Bucket.Matching.HONORED) {
            return;
        }
        int runs = 2 + ledger.touchedPacks();
        for (int i = 0; i < runs; i++) {
            Machine machine = able.get(random.nextInt(able.size()));
            runWithoutFaults(machine, "compact at the end", () -> {
                String outcome = machine.compact(Set.of(), isAdopting);
                if (!outcome.equals(Machine.DONE)) {
                    pass(true, BREAKER_OPEN_MILLIS);
                    outcome = machine.compact(Set.of(), isAdopting);
                }
                if (!outcome.equals(Machine.DONE)) {
                    throw new Violation(
                            Shape.STUCK, "compacting without faults ends in " + outcome);
                }
            });
            pass(true, TimeUnit.DAYS.toMillis(2));
        }
        if (!ledger.namedAndMissing().isEmpty()) {
            throw new Violation(
                    Shape.STILL_NAMED, "missing after compactions: " + ledger.namedAndMissing());
        }
    }

    private void runWithoutFaults(Machine machine, String what, Runnable task) {
        begin(machine, what, Set.of(), task);
        if (!machine.isIdle()) {
            throw new IllegalStateException("The end is not interrupted");
        }
    }
}
