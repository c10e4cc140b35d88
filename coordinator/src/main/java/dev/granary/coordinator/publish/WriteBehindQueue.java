package dev.granary.coordinator.publish;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.claim.CompileClaim;
import dev.granary.coordinator.config.LibraryVersion;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.stores.CountingCache;
import java.time.Duration;
import java.time.InstantSource;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * All that happens after the caller has its primitive: taking the binaries when they are whole, storing them in the local tier, handing them to
 * the {@link UploadRouter}. One thread and a bounded queue; what does not fit is counted as dropped. Thread-safe.
 */
public final class WriteBehindQueue implements AutoCloseable {
    private static final int QUEUE_LENGTH = 4096;

    /**
     * The most primitives that may await their launches at once: each keeps its program in the driver. Of one more, the binaries of the one
     * that waits longest are taken as they are.
     */
    public static final int MOST_INCOMPLETE = 1024;

    private final CountingCache local;
    private final UploadRouter uploads;
    private final LookupCounters counters;
    private final InstantSource clock;
    private final BiConsumer<Id, StoreResult> whenPublished;
    private final LinkedHashSet<Compiled> incomplete = new LinkedHashSet<>(); // guarded by itself; in the order in which they came
    private final OpenTaskCounter open = new OpenTaskCounter();
    private final ThreadPoolExecutor worker = new ThreadPoolExecutor(
            1, 1, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(QUEUE_LENGTH), DaemonThreads.named("granary-write-behind"));

    /** A primitive whose binaries are still inside the driver; compared by identity. */
    private static final class Compiled {
        private final Primitive primitive;
        private final Optional<Duration> knownCompileTime;
        private final long countedNanos; // of its compile time, in the counters already
        private final CompileClaim claim;

        Compiled(Primitive primitive, Optional<Duration> knownCompileTime, long countedNanos, CompileClaim claim) {
            this.primitive = primitive;
            this.knownCompileTime = knownCompileTime;
            this.countedNanos = countedNanos;
            this.claim = claim;
        }
    }

    public WriteBehindQueue(CountingCache local, UploadRouter uploads, LookupCounters counters, InstantSource clock, BiConsumer<Id, StoreResult> whenPublished) {
        this.local = local;
        this.uploads = uploads;
        this.counters = counters;
        this.clock = clock;
        this.whenPublished = whenPublished;
    }

    /**
     * Stores a compiled primitive's binaries as soon as they are whole; closes the claim when they are stored or will not be. So many nanoseconds of its
     * compile time are in the counters; the rest, such as of a driver that compiles at the launch, is added when the binaries are whole.
     */
    public void compiled(Primitive primitive, long countedNanos, CompileClaim claim) {
        whenWhole(new Compiled(primitive, Optional.empty(), countedNanos, claim));
    }

    /**
     * Stores anew what the driver made of a stored entry that it did not take as it was; compiling it cost {@code compileTime} once. Closes the
     * claim as {@link #compiled} does.
     */
    public void recompiled(Primitive primitive, Duration compileTime, CompileClaim claim) {
        whenWhole(new Compiled(primitive, Optional.of(compileTime), 0, claim));
    }

    private void whenWhole(Compiled compiled) {
        try {
            Optional<Compiled> tooMany = add(compiled);
            compiled.primitive.onBinariesComplete(() -> take(compiled));
            if (isIncomplete(compiled)) {
                compiled.claim.awaitLaunch();
            }
            tooMany.ifPresent(this::take);
        } catch (Throwable e) { // an error too: the caller has a sound primitive, and nobody else need know
            remove(compiled);
            compiled.claim.close();
            counters.withoutBinaries.increment();
            LogOnce.warn("binaries", "The binaries of a primitive cannot be taken: " + e);
        }
    }

    /** Adds one that is incomplete; the one that waits longest, where there are too many now. */
    private Optional<Compiled> add(Compiled compiled) {
        synchronized (incomplete) {
            incomplete.add(compiled);
            return incomplete.size() > MOST_INCOMPLETE ? Optional.of(incomplete.getFirst()) : Optional.empty();
        }
    }

    private boolean remove(Compiled compiled) {
        synchronized (incomplete) {
            return incomplete.remove(compiled);
        }
    }

    private boolean isIncomplete(Compiled compiled) {
        synchronized (incomplete) {
            return incomplete.contains(compiled);
        }
    }

    private List<Compiled> allIncomplete() {
        synchronized (incomplete) {
            return List.copyOf(incomplete);
        }
    }

    /** Stores an entry that came from the layer of that position in the local tier, closes the claim, and copies the entry to the layers before. */
    public void fill(Entry entry, int position, CompileClaim claim) {
        submit(() -> {
            StoreResult inLocalTier = local.store(entry);
            claim.close();
            uploads.fill(entry, inLocalTier, position);
        }, claim, _ -> {});
    }

    /** Sends an entry of the local tier to the bucket as well. */
    public void publish(Entry entry) {
        submit(() -> upload(entry, StoreResult.DUPLICATE), CompileClaim.NONE, failed -> whenPublished.accept(entry.id(), failed));
    }

    /** Takes all binaries, whole or not (the driver is asked to complete them), and waits for all that is under way until the deadline. */
    public boolean flush(long deadline) throws InterruptedException {
        for (Compiled compiled : allIncomplete()) {
            take(compiled);
        }
        if (!open.awaitNone(deadline)) {
            return false;
        }
        return uploads.awaitIdle(deadline);
    }

    @Override
    public void close() {
        List<Runnable> unbegun = worker.shutdownNow();
        unbegun.forEach(task -> ((Task) task).end());
        allIncomplete().forEach(compiled -> closeQuietly(compiled.claim));
        counters.dropped.add(unbegun.size());
        uploads.close();
    }

    private void take(Compiled compiled) {
        open.begin(); // a flush of another thread must not see it neither incomplete nor open
        try {
            if (remove(compiled)) {
                launched(compiled.claim);
                submit(() -> takeNow(compiled), compiled.claim, failed -> whenPublished.accept(compiled.primitive.descriptor().getId(), failed));
            }
        } finally {
            open.end(1);
        }
    }

    /** A claim that does not hear of it is closed a little later, with the task. */
    private static void launched(CompileClaim claim) {
        try {
            claim.launched();
        } catch (RuntimeException e) {
            LogOnce.warn("claim", "The claim of a launched primitive failed: " + e);
        }
    }

    /** A claim that cannot be closed ends with this process; what comes after it must be done all the same. */
    private static void closeQuietly(CompileClaim claim) {
        try {
            claim.close();
        } catch (Throwable e) {
            LogOnce.warn("claim", "A claim could not be closed: " + e);
        }
    }

    private void takeNow(Compiled compiled) {
        Primitive primitive = compiled.primitive;
        KernelBinaries binaries = binaries(primitive);
        Id id = primitive.descriptor().getId();
        if (compiled.knownCompileTime.isEmpty()) {
            counters.compileNanos.add(Math.max(0, primitive.compileTime().toNanos() - compiled.countedNanos));
        }
        if (binaries.isEmpty()) {
            counters.withoutBinaries.increment();
            whenPublished.accept(id, new StoreResult.Failed("the driver gave no binaries"));
            return;
        }
        Entry entry = Entry.of(id, binaries, compiled.knownCompileTime.orElseGet(primitive::compileTime),
                new EntryMetadata(LibraryVersion.NUMBER, ProducerName.name(), clock.instant(), primitive.kernels(), primitive.geometries(),
                        primitive.descriptor().readableKey()));
        StoreResult inLocalTier = local.store(entry);
        compiled.claim.close(); // the machine's others need not wait for the upload
        if (uploads.hasTarget()) {
            upload(entry, inLocalTier);
        } else {
            whenPublished.accept(id, inLocalTier);
        }
    }

    private static KernelBinaries binaries(Primitive primitive) {
        try {
            return primitive.getBinaries(BinaryKind.KERNEL);
        } catch (RuntimeException e) {
            LogOnce.warn("binaries", "The binaries of a primitive cannot be taken: " + e);
            return KernelBinaries.none();
        }
    }

    private void upload(Entry entry, StoreResult inLocalTier) {
        uploads.publish(entry, inLocalTier, whenPublished);
    }

    /** Runs {@code work} behind and closes the claim; what cannot be run, or fails, is counted as dropped and told to {@code whenFailed}. */
    private void submit(Runnable work, CompileClaim claim, Consumer<StoreResult> whenFailed) {
        Task task = new Task(work, claim, whenFailed);
        open.begin();
        try {
            worker.execute(task);
        } catch (RejectedExecutionException e) {
            task.end();
            drop(whenFailed, "too much waits to be stored");
        } catch (Throwable e) { // such as no memory for the thread
            task.end();
            drop(whenFailed, e.toString());
        }
    }

    /** What is done behind the caller. */
    private final class Task implements Runnable {
        private final Runnable work;
        private final CompileClaim claim;
        private final Consumer<StoreResult> whenFailed;
        private final AtomicBoolean isEnded = new AtomicBoolean(); // a task that could not be handed over for sure may run nevertheless

        Task(Runnable work, CompileClaim claim, Consumer<StoreResult> whenFailed) {
            this.work = work;
            this.claim = claim;
            this.whenFailed = whenFailed;
        }

        @Override
        public void run() {
            try {
                work.run();
            } catch (Throwable e) { // an error too: it must not end this thread, nor leave the listener without an answer
                LogOnce.warn("write-behind", "An entry could not be stored: " + e);
                drop(whenFailed, e.toString());
            } finally {
                end();
            }
        }

        /** Nothing more comes of this, and nobody waits for it. */
        void end() {
            if (isEnded.compareAndSet(false, true)) {
                try {
                    closeQuietly(claim);
                } finally {
                    open.end(1);
                }
            }
        }
    }

    private void drop(Consumer<StoreResult> whenFailed, String cause) {
        counters.dropped.increment();
        try {
            whenFailed.accept(new StoreResult.Failed(cause));
        } catch (Throwable e) {
            LogOnce.warn("listener", "The listener for published entries failed: " + e);
        }
    }
}
