package dev.granary.coordinator;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.StoreResult;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * All that happens after the caller has its primitive: taking the binaries when they are whole, storing them in the local tier, handing them to
 * the {@link Uploads}. One thread and a bounded queue; what does not fit is counted as dropped. Thread-safe.
 */
final class WriteBehind implements AutoCloseable {
    private static final int QUEUE_LENGTH = 4096;

    private final Tier local;
    private final Optional<Uploads> uploads;
    private final Counters counters;
    private final InstantSource clock;
    private final BiConsumer<Id, StoreResult> whenPublished;
    private final Set<Compiled> incomplete = ConcurrentHashMap.newKeySet();
    private final OpenTasks open = new OpenTasks();
    private final ThreadPoolExecutor worker = new ThreadPoolExecutor(
            1, 1, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(QUEUE_LENGTH), DaemonThreads.named("granary-write-behind"));

    /** A primitive whose binaries are still inside the driver; compared by identity. */
    private static final class Compiled {
        private final Primitive primitive;
        private final Optional<Duration> knownCompileTime;

        Compiled(Primitive primitive, Optional<Duration> knownCompileTime) {
            this.primitive = primitive;
            this.knownCompileTime = knownCompileTime;
        }
    }

    WriteBehind(Tier local, Optional<Uploads> uploads, Counters counters, InstantSource clock, BiConsumer<Id, StoreResult> whenPublished) {
        this.local = local;
        this.uploads = uploads;
        this.counters = counters;
        this.clock = clock;
        this.whenPublished = whenPublished;
    }

    /** Stores a compiled primitive's binaries as soon as they are whole. */
    void compiled(Primitive primitive) {
        whenWhole(new Compiled(primitive, Optional.empty()));
    }

    /** Stores anew what the driver made of a stored entry that it did not take as it was; compiling it cost {@code compileTime} once. */
    void recompiled(Primitive primitive, Duration compileTime) {
        whenWhole(new Compiled(primitive, Optional.of(compileTime)));
    }

    private void whenWhole(Compiled compiled) {
        incomplete.add(compiled);
        try {
            compiled.primitive.onBinariesComplete(() -> take(compiled));
        } catch (RuntimeException e) { // the caller has a sound primitive: nobody else need know
            incomplete.remove(compiled);
            counters.withoutBinaries.increment();
            WarnOnce.warn("binaries", "The binaries of a primitive cannot be taken: " + e);
        }
    }

    /** Stores an entry that came from the bucket in the local tier. */
    void fill(Entry entry) {
        submit(() -> local.store(entry), _ -> {});
    }

    /** Sends an entry of the local tier to the bucket as well. */
    void publish(Entry entry) {
        submit(() -> upload(entry, StoreResult.DUPLICATE), failed -> whenPublished.accept(entry.id(), failed));
    }

    /** Takes all binaries, whole or not (the driver is asked to complete them), and waits for all that is under way until the deadline. */
    boolean flush(long deadline) throws InterruptedException {
        incomplete.forEach(this::take);
        if (!open.awaitNone(deadline)) {
            return false;
        }
        return uploads.isEmpty() || uploads.get().awaitIdle(deadline);
    }

    @Override
    public void close() {
        int unbegun = worker.shutdownNow().size();
        counters.dropped.add(unbegun);
        open.end(unbegun);
        uploads.ifPresent(Uploads::close);
    }

    private void take(Compiled compiled) {
        open.begin(); // a flush of another thread must not see it neither incomplete nor open
        try {
            if (incomplete.remove(compiled)) {
                submit(() -> takeNow(compiled), failed -> whenPublished.accept(compiled.primitive.descriptor().getId(), failed));
            }
        } finally {
            open.end(1);
        }
    }

    private void takeNow(Compiled compiled) {
        Primitive primitive = compiled.primitive;
        KernelBinaries binaries = binaries(primitive);
        Id id = primitive.descriptor().getId();
        if (binaries.isEmpty()) {
            counters.withoutBinaries.increment();
            whenPublished.accept(id, new StoreResult.Failed("the driver gave no binaries"));
            return;
        }
        Entry entry = Entry.of(id, binaries, compiled.knownCompileTime.orElseGet(primitive::compileTime),
                new EntryMetadata(Version.NUMBER, Producer.name(), clock.instant(), primitive.kernels(), primitive.geometries(),
                        primitive.descriptor().readableKey()));
        StoreResult inLocalTier = local.store(entry);
        if (uploads.isPresent()) {
            upload(entry, inLocalTier);
        } else {
            whenPublished.accept(id, inLocalTier);
        }
    }

    private static KernelBinaries binaries(Primitive primitive) {
        try {
            return primitive.getBinaries(BinaryKind.KERNEL);
        } catch (RuntimeException e) {
            WarnOnce.warn("binaries", "The binaries of a primitive cannot be taken: " + e);
            return KernelBinaries.none();
        }
    }

    private void upload(Entry entry, StoreResult inLocalTier) {
        uploads.ifPresent(bucket -> bucket.add(entry, inLocalTier, whenPublished));
    }

    /** Runs {@code task} behind; one that cannot be run, or fails, is counted as dropped and told to {@code whenFailed}. */
    private void submit(Runnable task, Consumer<StoreResult> whenFailed) {
        open.begin();
        try {
            worker.execute(() -> {
                try {
                    task.run();
                } catch (RuntimeException e) {
                    WarnOnce.warn("write-behind", "An entry could not be stored: " + e);
                    drop(whenFailed, e.toString());
                } finally {
                    open.end(1);
                }
            });
        } catch (RejectedExecutionException e) {
            open.end(1);
            drop(whenFailed, "too much waits to be stored");
        }
    }

    private void drop(Consumer<StoreResult> whenFailed, String cause) {
        counters.dropped.increment();
        try {
            whenFailed.accept(new StoreResult.Failed(cause));
        } catch (RuntimeException e) {
            WarnOnce.warn("listener", "The listener for published entries failed: " + e);
        }
    }
}
