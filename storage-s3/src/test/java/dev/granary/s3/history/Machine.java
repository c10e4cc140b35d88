package dev.granary.s3.history;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.s3.BucketCollector;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.CollectionPlan;
import dev.granary.s3.TestProcess;
import dev.granary.s3.UseNotes;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.s3.pack.compact.CompactionReport;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.store.WriteResult;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/** A machine of the fleet, with one process at a time, which runs one task at a time. */
final class Machine {
    static final String DONE = "done";
    static final Duration GRACE = Duration.ofDays(1);
    private static final int COMPACTIONS = 5;
    private static final long ONE_PAUSE_MILLIS = 10;
    private static final long LONG_MILLIS = 30_000;

    private final Course course;
    private final Bucket bucket;
    private final String name;
    private final boolean mayList;
    private final S3Config config;
    private final Optional<Path> headFile;
    private final long skewMillis;
    private final Ledger ledger;
    private final Wire wire;
    private final RandomGenerator random;
    private final Deque<Runnable> backgroundTasks = new ArrayDeque<>();
    private final String namespace;
    private TestProcess process;
    private PackPublisher publisher;
    private Function<Id, LoadResult> uncached;
    private @Nullable Work work;
    private long lastFaultMillis;
    private int isFrozenFor;

    /** The task that a process is running. */
    static final class Work {
        private final String task;
        private final Set<Id> leavingOut;
        private final long fromMillis;
        private int mark;
        private Fibers.@Nullable Fiber fiber;
        private int faults;
        private int falseResponses;
        private boolean isUndisturbed;
        private boolean hasReadRemovedState;
        private @Nullable Collecting collecting;

        Work(String task, Set<Id> leavingOut, long fromMillis, int mark) {
            this.task = task;
            this.leavingOut = leavingOut;
            this.fromMillis = fromMillis;
            this.mark = mark;
        }

        void setFiber(Fibers.Fiber doing) {
            this.fiber = doing;
        }

        Fibers.Fiber fiber() {
            return Objects.requireNonNull(fiber);
        }

        /** Sets the mark of the ledger when the task begins. */
        void setMark(int begun) {
            mark = begun;
        }

        /** Returns the ids that the task may remove with its next request. */
        Set<Id> leavingOut() {
            return collecting == null ? leavingOut : collecting.leavingOut();
        }

        /** Called when the task lists keys. */
        void listing(String prefix) {
            if (collecting != null) {
                collecting.listing(prefix);
            }
        }

        /** Sets what the task may remove, if it collects. */
        void setCollecting(Collecting what) {
            collecting = what;
        }

        String task() {
            return task;
        }

        long fromMillis() {
            return fromMillis;
        }

        int mark() {
            return mark;
        }

        boolean hadFault() {
            return faults > 0;
        }

        boolean hasFalseResponse() {
            return falseResponses > 0;
        }

        void addFault(Disturbance one) {
            faults++;
            falseResponses += one.isFalse() ? 1 : 0;
        }

        boolean hasReadRemovedState() {
            return hasReadRemovedState;
        }
    }

    /**
     * The properties of a machine.
     *
     * @param name its name
     * @param mayList whether its credentials may list
     * @param indexDirectory the directory of its index cache; empty for none
     * @param skewMillis how far its wall clock is ahead
     */
    record Kind(String name, boolean mayList, Optional<Path> indexDirectory, long skewMillis) {}

    Machine(
            Course course,
            Bucket bucket,
            Ledger ledger,
            S3ConfigBuilder config,
            Kind kind,
            String namespace,
            SplittableRandom random) {
        this.course = course;
        this.bucket = bucket;
        this.name = kind.name();
        this.mayList = kind.mayList();
        this.skewMillis = kind.skewMillis();
        kind.indexDirectory().ifPresent(config::packIndexCache);
        this.config = config.build();
        this.headFile = kind.indexDirectory()
                .map(indexDirectory -> indexDirectory.resolve(namespace).resolve("head"));
        this.ledger = ledger;
        this.wire = new Wire(bucket, ledger, this);
        this.random = locked(random);
        this.namespace = namespace;
        this.process = start();
        this.publisher = startPublisher();
        this.uncached = process.tier().uncached();
    }

    private PackPublisher startPublisher() {
        return process.packed()
                .publisher(namespace, process.tier()::store, process.tier()::disprove);
    }

    private static RandomGenerator locked(SplittableRandom random) {
        return () -> {
            synchronized (random) {
                return random.nextLong();
            }
        };
    }

    private TestProcess start() {
        return new TestProcess(
                config,
                wire,
                new TestProcess.Environment(
                        () -> bucket.nowMillis() * 1_000_000,
                        () -> bucket.nowMillis() + skewMillis,
                        (Duration _) -> bucket.pass(ONE_PAUSE_MILLIS),
                        random,
                        backgroundTasks::add));
    }

    /** Ends the process and starts another one. */
    void reboot() {
        process.close();
        backgroundTasks.clear();
        process = start();
        publisher = startPublisher();
        uncached = process.tier().uncached();
    }

    /** Publishes an entry as {@code granary populate} does. */
    void upload(Entry entry, int times, BiConsumer<StoreResult, String> whenDone) {
        switch (uncached.apply(entry.id())) {
            case LoadResult.Hit(Entry there) ->
                whenDone.accept(
                        there.contentHash().equals(entry.contentHash())
                                ? StoreResult.DUPLICATE
                                : StoreResult.DIVERGENT,
                        "looked up");
            case LoadResult.Damaged _ ->
                whenDone.accept(process.tier().store(entry), "unpacked, damaged");
            case LoadResult.Absent _, LoadResult.Unavailable _ -> {
                if (process.tier().packObstacle().isPresent()) {
                    whenDone.accept(process.tier().store(entry), "unpacked, no packs");
                    return;
                }
                for (int i = 0; i < times; i++) {
                    String source = i == 0 ? "in a pack" : "in a pack, the second time";
                    if (!publisher.add(entry, result -> whenDone.accept(result, source))) {
                        throw new IllegalStateException("Too large for a pack");
                    }
                }
            }
        }
    }

    /**
     * Compacts as {@code granary compact} does.
     *
     * @param without the ids to be left out
     * @param isAdopting true if packs that no head names are adopted before
     * @return the outcome, {@code done} if complete
     */
    String compact(Set<Id> without, boolean isAdopting) {
        Optional<String> obstacle = process.tier().packObstacle();
        if (obstacle.isPresent()) {
            return obstacle.get();
        }
        Set<String> names =
                without.stream().map(id -> id.hash().hex()).collect(Collectors.toUnmodifiableSet());
        BulkBucket packed = process.packed();
        try {
            if (isAdopting) {
                packed.adopter(namespace, process.tier()::disprove).run();
            }
            PackCompactor compactor = packed.compactor(namespace);
            for (int attempt = 0; attempt < COMPACTIONS; attempt++) {
                Optional<CompactionReport> report = compactor.run(
                        compactor.plan(names),
                        GRACE,
                        process.tier().honoursConditionalDelete(),
                        _ -> {});
                if (report.isPresent()) {
                    packed.remover(namespace).run(GRACE);
                    return DONE;
                }
            }
            return "overtaken";
        } catch (CompactionException e) {
            return String.valueOf(e.getMessage());
        }
    }

    /**
     * Collects as {@code granary collect --delete} does.
     *
     * @return the outcome, {@code done} if complete
     */
    String collect(CollectionPlan.Rules rules, boolean hasTwoClocks) {
        work().setCollecting(new Collecting(bucket, ledger, rules, hasTwoClocks, work()));
        Optional<String> obstacle = process.tier().packObstacle();
        if (obstacle.isPresent()) {
            return obstacle.get();
        }
        try {
            BucketCollector collector = process.collector();
            CollectionPlan plan = collector.plan(rules);
            for (CollectionPlan.Target target : plan.targets()) {
                if (target.hasWork()) {
                    BucketCollector.Outcome ignored = collector.collect(
                            plan, target, process.tier().honoursConditionalDelete(), _ -> {});
                }
            }
            long claims = collector.removeClaims(plan);
            return DONE + ", " + (claims + collector.forgetNotes(plan)) + " notes and claims";
        } catch (CompactionException | IOException e) {
            return String.valueOf(e.getMessage());
        }
    }

    /** Notes the use of entries, by the clock of this machine. */
    void note(Set<Id> used, String random16) {
        LocalDate day = LocalDate.ofInstant(
                Instant.ofEpochMilli(bucket.nowMillis() + skewMillis), ZoneOffset.UTC);
        long[] ids = used.stream().mapToLong(id -> id.hash().prefix()).sorted().toArray();
        UseNotes.UseNote note = new UseNotes.UseNote(
                day, random16, new TreeMap<>(Map.of(namespace, ids)), Map.of());
        if (process.tier().useNotes().write(note) instanceof WriteResult.Done) {
            ledger.noted("use/" + day + "/" + random16, day, used);
        }
    }

    /** Pins entries. */
    void pin(String pin, Set<Id> ids) {
        if (process.packed().pins().write(pin, ids).isEmpty()) {
            ledger.pinned("pin/" + pin, ids);
        }
    }

    /** Removes a pin. */
    void unpin(String pin) {
        ledger.unpinned("pin/" + pin);
        try {
            boolean ignored = process.packed().pins().remove(pin);
        } catch (IOException e) {
            // it may be there
        }
    }

    /** Ends an upload. */
    void finishUpload() {
        uncached = process.tier().uncached();
        publisher.finish();
    }

    void close() {
        process.close();
    }

    String name() {
        return name;
    }

    boolean mayList() {
        return mayList;
    }

    TestProcess process() {
        return process;
    }

    boolean isIdle() {
        return work == null;
    }

    Work work() {
        return Objects.requireNonNull(work);
    }

    void begin(Work next) {
        work = next;
    }

    void end() {
        if (isLong(work())) {
            // its state may have been read before it was suspended
            lastFaultMillis = bucket.nowMillis();
        }
        work = null;
        stampHeadFile();
    }

    /** Returns true if a process was, or might have been, suspended in the task. */
    boolean isLong(Work one) {
        return bucket.nowMillis() - one.fromMillis() > LONG_MILLIS;
    }

    /** Freezes the process for that many steps of the course. */
    void freeze(int steps) {
        isFrozenFor = steps;
    }

    boolean isFrozen() {
        return isFrozenFor > 0;
    }

    void thaw(int steps) {
        isFrozenFor = Math.max(0, isFrozenFor - steps);
    }

    /** Returns the time since its last fault, in milliseconds. */
    long millisSinceFault() {
        return bucket.nowMillis() - lastFaultMillis;
    }

    /** Runs the background tasks. They run at once, so before or after the callers. */
    void runBackgroundTasks() {
        Runnable task;
        while ((task = backgroundTasks.poll()) != null) {
            task.run();
        }
    }

    /** Sets the time of the head file to the time of the course. */
    void stampHeadFile() {
        if (headFile.isPresent() && Files.exists(headFile.get())) {
            try {
                long real = Files.getLastModifiedTime(headFile.get()).toMillis();
                if (real > bucket.nowMillis() + History.FAR_MILLIS) {
                    Files.setLastModifiedTime(
                            headFile.get(), FileTime.fromMillis(bucket.nowMillis() + skewMillis));
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Runs a task without faults and without other machines in between. */
    void runUndisturbed(Runnable task) {
        work().isUndisturbed = true;
        try {
            task.run();
        } finally {
            work().isUndisturbed = false;
        }
    }

    // ---- called by the wire

    Disturbance request(String method, String key) {
        Work now = work();
        if (now.isUndisturbed) {
            return Disturbance.NONE;
        }
        course.yieldTurn(this, method, key);
        Disturbance fault = course.fault(this, method, key);
        if (fault != Disturbance.NONE) {
            now.addFault(fault);
            lastFaultMillis = bucket.nowMillis();
        }
        return fault;
    }

    void answered(String method, String key, Disturbance fault, Supplier<String> result) {
        course.trace(() -> "    " + name + " " + method + " " + Ledger.shorten(key) + " -> "
                + result.get() + (fault == Disturbance.NONE ? "" : "   ! " + fault));
    }

    void landed(String method, String key, String result) {
        course.trace(() ->
                "  late: " + name + " " + method + " " + Ledger.shorten(key) + " -> " + result);
    }

    void readRemovedState() {
        work().hasReadRemovedState = true;
    }

    boolean hasOtherClock() {
        return course.hasOtherClock();
    }

    int lag() {
        return course.lag();
    }
}
