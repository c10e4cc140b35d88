package dev.granary.s3.history;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.TestProcess;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.testing.TestSeed;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * One run of a few actors over one bucket, whose requests are interleaved as a schedule says. The
 * ledger verifies all invariants after each step.
 */
final class Scenario implements Course {
    private static final String NAMESPACE = TestEntries.TARGET.path();

    /** A choice that the schedule made: one of {@code options} actors, the current one first. */
    private record Step(int options, int chosen, int switchesBefore, boolean mayContinue) {
        boolean hasAnother() {
            return chosen + 1 < options && switchesBefore + (mayContinue ? 1 : 0) <= 1;
        }
    }

    /** An actor of the scenario. */
    private static final class Actor {
        private final Fibers.Fiber fiber;
        private final Optional<Machine> machine;

        Actor(Fibers.Fiber fiber, Optional<Machine> machine) {
            this.fiber = fiber;
            this.machine = machine;
        }
    }

    /** A fault of the nth request of that method, counted from 1, by that machine. */
    record Fault(String machine, String method, int number, Disturbance what) {}

    private final List<Integer> schedule;
    private final Optional<SplittableRandom> random;
    private final List<Step> steps = new ArrayList<>();
    private final Trace trace = new Trace(true);
    private final Fibers fibers = new Fibers();
    private final List<Actor> actors = new ArrayList<>();
    private final List<Machine> machines = new ArrayList<>();
    private final List<Fault> faults = new ArrayList<>();
    private final Map<String, Integer> sent = new LinkedHashMap<>();
    private final TestEntries maker = new TestEntries("scenario");
    private final Bucket bucket;
    private final Ledger ledger;
    private Runnable check = () -> {};

    private Scenario(List<Integer> schedule, Optional<SplittableRandom> random) {
        this.schedule = schedule;
        this.random = random;
        this.bucket = new Bucket(Bucket.Matching.HONORED);
        this.ledger = new Ledger(bucket, config().build(), NAMESPACE, false);
        S3Config config = config().build();
        bucket.put(
                TestProcess.markerKey(config),
                TestProcess.marker(config, ConditionalWriteSupport.FULL));
    }

    private static S3ConfigBuilder config() {
        return S3Config.builder("bucket");
    }

    /**
     * Runs a scenario under each schedule with at most one switch away from an actor that could go
     * on, and then under random ones.
     *
     * @param maxRuns the largest number of runs of either kind
     */
    static void explore(int maxRuns, Consumer<Scenario> setUp) {
        List<Integer> schedule = new ArrayList<>();
        for (int run = 0; run < maxRuns && schedule != null; run++) {
            Scenario scenario = new Scenario(schedule, Optional.empty());
            scenario.run(setUp);
            schedule = scenario.nextSchedule();
        }
        for (int run = 0; run < maxRuns; run++) {
            SplittableRandom random = new SplittableRandom(TestSeed.VALUE + run);
            new Scenario(List.of(), Optional.of(random)).run(setUp);
        }
    }

    /** Returns the schedule after this one in the order of the search; null after the last. */
    private @Nullable List<Integer> nextSchedule() {
        int last = steps.size() - 1;
        while (last >= 0 && !steps.get(last).hasAnother()) {
            last--;
        }
        if (last < 0) {
            return null;
        }
        List<Integer> next = new ArrayList<>();
        steps.subList(0, last).forEach(step -> next.add(step.chosen()));
        next.add(steps.get(last).chosen() + 1);
        return next;
    }

    private int choose(int options, boolean mayContinue) {
        if (random.isPresent()) {
            return mayContinue && random.get().nextInt(10) < 6
                    ? 0
                    : random.get().nextInt(options);
        }
        return steps.size() < schedule.size() ? schedule.get(steps.size()) : 0;
    }

    private void run(Consumer<Scenario> setUp) {
        try {
            setUp.accept(this);
            ledger.verify();
            Optional<Actor> current = Optional.empty();
            int switches = 0;
            for (List<Actor> open = open(current); !open.isEmpty(); open = open(current)) {
                boolean mayContinue = current.equals(Optional.of(open.getFirst()));
                int chosen = choose(open.size(), mayContinue);
                steps.add(new Step(open.size(), chosen, switches, mayContinue));
                switches += mayContinue && chosen > 0 ? 1 : 0;
                Actor next = open.get(chosen);
                bucket.pass(10);
                next.fiber.resume();
                if (next.fiber.isDone()) {
                    next.machine.ifPresent(Machine::end);
                }
                current = Optional.of(next);
                ledger.verify();
            }
            bucket.land();
            ledger.verify();
            check.run();
        } catch (Violation | IllegalStateException e) {
            throw new AssertionError(trace.text() + "\n" + e.getMessage(), e);
        } finally {
            fibers.abandon();
            machines.forEach(Machine::close);
        }
    }

    /** Returns the actors that are not done, the current one first. */
    private List<Actor> open(Optional<Actor> current) {
        List<Actor> open = new ArrayList<>();
        current.filter(actor -> !actor.fiber.isDone()).ifPresent(open::add);
        actors.stream()
                .filter(actor -> !actor.fiber.isDone() && !open.contains(actor))
                .forEach(open::add);
        return open;
    }

    // ---- set-up

    Bucket bucket() {
        return bucket;
    }

    Ledger ledger() {
        return ledger;
    }

    /** Returns a new entry. */
    Entry entry() {
        return entry(maker.id());
    }

    private Entry entry(Id id) {
        Entry entry = maker.entry(id, 50);
        ledger.content(entry);
        return entry;
    }

    /** Places packs; some of their entries count as acknowledged. */
    void place(FullTarget target) {
        target.place(bucket, ledger);
        target.entries().subList(0, 3).forEach(entry -> {
            ledger.content(entry);
            ledger.acknowledge(entry.id(), "placed", false);
        });
    }

    void fault(String machine, String method, int number, Disturbance what) {
        faults.add(new Fault(machine, method, number, what));
    }

    /** Sets what is verified at the end. */
    void check(Runnable atEnd) {
        check = atEnd;
    }

    /** Does something with a machine of its own, before the actors begin. */
    void before(Consumer<Machine> task) {
        Machine machine = machine("before");
        machine.begin(new Machine.Work("before", Set.of(), bucket.nowMillis(), ledger.mark()));
        machine.runUndisturbed(() -> task.accept(machine));
        machine.end();
        bucket.pass(10);
    }

    /** Adds an actor with a machine of its own. */
    void actor(String name, Consumer<Machine> task) {
        actor(name, Set.of(), task);
    }

    /**
     * Adds an actor with a machine of its own.
     *
     * @param leavingOut the ids that it removes on purpose
     */
    void actor(String name, Set<Id> leavingOut, Consumer<Machine> task) {
        Machine machine = machine(name);
        ledger.withdraw(leavingOut);
        machine.begin(new Machine.Work(name, leavingOut, bucket.nowMillis(), ledger.mark()));
        Fibers.Fiber fiber = fibers.start(() -> {
            machine.work().setMark(ledger.mark()); // what was removed before does not count
            task.accept(machine);
        });
        machine.work().setFiber(fiber);
        actors.add(new Actor(fiber, Optional.of(machine)));
    }

    /** Adds an outsider, who does something in one step. */
    void outsider(String what, Runnable task) {
        actors.add(new Actor(
                fibers.start(() -> {
                    trace(() -> what);
                    task.run();
                }),
                Optional.empty()));
    }

    /** Adds an outsider who removes an object, if it is there. */
    void remover(Supplier<Optional<String>> key) {
        outsider("an outsider removes an object", () -> key.get().ifPresent(this::remove));
    }

    private void remove(String key) {
        ledger.beforeRemoval(key);
        bucket.delete(key);
        if (key.equals(ledger.keys().head())) {
            ledger.headChanged(false);
        }
    }

    private Machine machine(String name) {
        Machine machine = new Machine(
                this,
                bucket,
                ledger,
                config(),
                new Machine.Kind(name, true, Optional.empty(), 0),
                NAMESPACE,
                new SplittableRandom(name.hashCode()));
        machines.add(machine);
        return machine;
    }

    // ---- tasks

    /** Publishes entries in one pack. */
    void publish(Machine machine, Entry... entries) {
        for (Entry entry : entries) {
            machine.upload(entry, 1, (result, source) -> record(machine, entry, result, source));
        }
        machine.finishUpload();
    }

    /** Publishes an unpacked entry. */
    void store(Machine machine, Entry entry) {
        record(machine, entry, machine.process().tier().store(entry), "unpacked");
    }

    private void record(Machine machine, Entry entry, StoreResult result, String source) {
        trace(() -> "  " + machine.name() + ": " + Ledger.name(entry.id()) + " " + result + ", "
                + source);
        boolean isAcknowledged = result instanceof StoreResult.Stored
                || result instanceof StoreResult.Duplicate
                || result instanceof StoreResult.Divergent;
        if (isAcknowledged && !ledger.isRemovedSince(entry.id(), machine.work().mark())) {
            ledger.acknowledge(entry.id(), machine.name() + ", " + source, false);
        }
    }

    /** Compacts, without the entries of these ids. */
    void compact(Machine machine, Id... without) {
        String outcome = machine.compact(Set.of(without), false);
        trace(() -> "  " + machine.name() + ": " + outcome);
    }

    // ---- called by the machines

    @Override
    public void trace(Supplier<String> line) {
        trace.add(line);
    }

    @Override
    public void yieldTurn(Machine machine, String method, String key) {
        // reads of immutable objects commute with all but deletions, which come late
        if (!method.equals("RANGE") && !key.endsWith("granary.json")) {
            machine.work().fiber().yieldTurn();
        }
    }

    @Override
    public Disturbance fault(Machine machine, String method, String key) {
        int number = sent.merge(machine.name() + " " + method, 1, Integer::sum);
        return faults.stream()
                .filter(one -> one.machine().equals(machine.name())
                        && one.method().equals(method)
                        && one.number() == number)
                .map(Fault::what)
                .findFirst()
                .orElse(Disturbance.NONE);
    }
}
