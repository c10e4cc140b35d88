package dev.granary.coordinator.publish;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Primitive;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.claim.CompileClaim;
import dev.granary.coordinator.config.LibraryVersion;
import dev.granary.coordinator.layer.OpenTaskCounter;
import dev.granary.coordinator.layer.RemoteLayers;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.stores.CountingCache;

import java.time.Duration;
import java.time.InstantSource;
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
 * Queue of the work after a lookup: taking complete binaries from the driver, storing them in the
 * local tier, and passing them to the {@link RemoteLayers}. It has one thread and a bounded queue;
 * work that does not fit is counted as dropped. Thread-safe.
 */
public final class WriteBehindQueue implements AutoCloseable {
    private static final int QUEUE_LENGTH = 4096;

    /**
     * The largest number of primitives that may await their launches, since each keeps its program
     * in the driver. If there is one more, the binaries of the oldest are taken as they are.
     */
    public static final int MAX_INCOMPLETE = 1024;

    private final CountingCache local;
    private final RemoteLayers layers;
    private final LookupCounters counters;
    private final InstantSource clock;
    private final BiConsumer<Id, StoreResult> whenPublished;
    private final IncompletePrimitives incomplete = new IncompletePrimitives(MAX_INCOMPLETE);
    private final OpenTaskCounter openTasks = new OpenTaskCounter();
    private final ThreadPoolExecutor worker = new ThreadPoolExecutor(
            1,
            1,
            0,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(QUEUE_LENGTH),
            DaemonThreads.named("granary-write-behind"));

    public WriteBehindQueue(
            CountingCache local,
            RemoteLayers layers,
            LookupCounters counters,
            InstantSource clock,
            BiConsumer<Id, StoreResult> whenPublished) {
        this.local = local;
        this.layers = layers;
        this.counters = counters;
        this.clock = clock;
        this.whenPublished = whenPublished;
    }

    /**
     * Stores the binaries of a compiled primitive when they are complete, and closes the claim when
     * they are stored or will not be.
     *
     * @param countedNanos the part of the compile time that is in the counters already; the rest,
     *     such as that of a driver that compiles at the launch, is added later
     */
    public void compiled(Primitive primitive, long countedNanos, CompileClaim claim) {
        storeWhenComplete(new CompiledPrimitive(primitive, Optional.empty(), countedNanos, claim));
    }

    /**
     * Stores the binaries that the driver returned for a restored primitive instead of those of its
     * entry, and closes the claim as {@link #compiled} does. The driver compiled again, or the
     * entry is of another namespace.
     *
     * @param compileTime the compile time of the stored entry
     */
    public void restoredAnew(Primitive primitive, Duration compileTime, CompileClaim claim) {
        storeWhenComplete(new CompiledPrimitive(primitive, Optional.of(compileTime), 0, claim));
    }

    private void storeWhenComplete(CompiledPrimitive compiled) {
        try {
            Optional<CompiledPrimitive> overflow = incomplete.add(compiled);
            compiled.primitive.onBinariesComplete(() -> takeBinaries(compiled));
            if (incomplete.contains(compiled)) {
                compiled.claim.awaitLaunch();
            }
            overflow.ifPresent(this::takeBinaries);
        } catch (Throwable e) {
            // an error too: the caller has a valid primitive, and needs no report
            incomplete.remove(compiled);
            closeQuietly(compiled.claim);
            counters.increment(LookupCounter.WITHOUT_BINARIES);
            LogOnce.warn("binaries", "The binaries of a primitive cannot be taken: " + e);
            notify(
                    failed ->
                            whenPublished.accept(compiled.primitive.descriptor().getId(), failed),
                    e.toString());
        }
    }

    /** Stores an entry of a layer in the local tier, and closes the claim. */
    public void fill(Entry entry, CompileClaim claim) {
        submit(() -> local.store(entry), claim, _ -> {});
    }

    /** Queues the upload of a stored entry: that of the local tier, else that of the layers. */
    public void publish(Id id) {
        submit(
                () -> publishStored(id),
                CompileClaim.NONE,
                failed -> whenPublished.accept(id, failed));
    }

    private void publishStored(Id id) {
        if (local.cache().load(id) instanceof LoadResult.Hit(Entry entry)) {
            upload(entry, StoreResult.DUPLICATE);
            return;
        }
        StoreResult absent = new StoreResult.Failed("no tier has returned the entry");
        layers.search(List.of(id), (entry, _) -> Optional.of(entry))
                .ifPresentOrElse(
                        entry -> upload(entry, absent), () -> whenPublished.accept(id, absent));
    }

    /**
     * Takes all binaries, which makes the driver complete them, and waits for all work in progress
     * until the deadline.
     *
     * @return true if nothing is left to do
     */
    public boolean flush(long deadline) throws InterruptedException {
        for (CompiledPrimitive compiled : incomplete.all()) {
            takeBinaries(compiled);
        }
        do {
            if (!openTasks.awaitNone(deadline) || !layers.awaitUploads(deadline)) {
                return false;
            }
        } while (!openTasks.isNone()); // the result of an upload may lead to another one
        return true;
    }

    @Override
    public void close() {
        List<Runnable> unstarted = worker.shutdownNow();
        unstarted.forEach(task -> ((Task) task).end());
        incomplete.all().forEach(compiled -> closeQuietly(compiled.claim));
        counters.add(LookupCounter.DROPPED, unstarted.size());
    }

    private void takeBinaries(CompiledPrimitive compiled) {
        openTasks.begin(); // a concurrent flush must see it as incomplete or in progress
        try {
            if (incomplete.remove(compiled)) {
                launched(compiled.claim);
                submit(
                        () -> takeAndStore(compiled),
                        compiled.claim,
                        failed -> whenPublished.accept(
                                compiled.primitive.descriptor().getId(), failed));
            }
        } finally {
            openTasks.end(1);
        }
    }

    /**
     * Reports the launch to the claim. A claim for which this fails is closed later, with the task.
     */
    private static void launched(CompileClaim claim) {
        try {
            claim.launched();
        } catch (RuntimeException e) {
            LogOnce.warn("claim", "The claim of a launched primitive failed: " + e);
        }
    }

    /**
     * Closes a claim. If that fails, the claim ends with this process, and the remaining work goes
     * on.
     */
    private static void closeQuietly(CompileClaim claim) {
        try {
            claim.close();
        } catch (Throwable e) {
            LogOnce.warn("claim", "A claim could not be closed: " + e);
        }
    }

    private void takeAndStore(CompiledPrimitive compiled) {
        Primitive primitive = compiled.primitive;
        KernelBinaries binaries = binaries(primitive);
        Id id = primitive.descriptor().getId();
        if (compiled.knownCompileTime.isEmpty()) {
            counters.add(
                    LookupCounter.COMPILE_TIME,
                    Math.max(0, primitive.compileTime().toNanos() - compiled.countedNanos));
        }
        if (binaries.isEmpty()) {
            counters.increment(LookupCounter.WITHOUT_BINARIES);
            whenPublished.accept(id, new StoreResult.Failed("the driver returned no binaries"));
            return;
        }
        Entry entry = Entry.of(
                id,
                binaries,
                compiled.knownCompileTime.orElseGet(primitive::compileTime),
                new EntryMetadata(
                        LibraryVersion.NUMBER,
                        ProducerName.name(),
                        clock.instant(),
                        primitive.kernels(),
                        primitive.geometries(),
                        primitive.descriptor().readableKey()));
        StoreResult inLocalTier = local.store(entry);
        compiled.claim.close(); // other processes need not wait for the upload
        if (layers.isWritable()) {
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
        layers.publish(entry, inLocalTier, whenPublished);
    }

    /**
     * Runs {@code action} in the background and then closes the claim. If it cannot run or fails,
     * it is counted as dropped, and {@code whenFailed} receives the cause.
     */
    private void submit(Runnable action, CompileClaim claim, Consumer<StoreResult> whenFailed) {
        Task task = new Task(action, claim, whenFailed);
        openTasks.begin();
        try {
            worker.execute(task);
        } catch (RejectedExecutionException e) {
            task.end();
            drop(whenFailed, "the write-behind queue is full");
        } catch (Throwable e) { // such as out of memory for the thread
            task.end();
            drop(whenFailed, e.toString());
        }
    }

    /** A unit of background work. */
    private final class Task implements Runnable {
        private final Runnable action;
        private final CompileClaim claim;
        private final Consumer<StoreResult> whenFailed;
        // a task whose submission failed may run nevertheless
        private final AtomicBoolean isEnded = new AtomicBoolean();

        Task(Runnable action, CompileClaim claim, Consumer<StoreResult> whenFailed) {
            this.action = action;
            this.claim = claim;
            this.whenFailed = whenFailed;
        }

        @Override
        public void run() {
            try {
                action.run();
            } catch (Throwable e) {
                // an error too: it must neither end this thread nor leave the listener without a
                // result
                LogOnce.warn("write-behind", "An entry could not be stored: " + e);
                drop(whenFailed, e.toString());
            } finally {
                end();
            }
        }

        /** Ends the task: closes the claim, and releases waiting flushes. */
        void end() {
            if (isEnded.compareAndSet(false, true)) {
                try {
                    closeQuietly(claim);
                } finally {
                    openTasks.end(1);
                }
            }
        }
    }

    private void drop(Consumer<StoreResult> whenFailed, String cause) {
        counters.increment(LookupCounter.DROPPED);
        notify(whenFailed, cause);
    }

    private static void notify(Consumer<StoreResult> whenFailed, String cause) {
        try {
            whenFailed.accept(new StoreResult.Failed(cause));
        } catch (Throwable e) {
            LogOnce.warn("listener", "The listener for published entries failed: " + e);
        }
    }
}
