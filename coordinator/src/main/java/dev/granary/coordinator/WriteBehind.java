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
import java.util.concurrent.Phaser;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;

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
    private final String producer;
    private final BiConsumer<Id, StoreResult> whenPublished;
    private final Set<Compiled> incomplete = ConcurrentHashMap.newKeySet();
    private final Phaser running = new Phaser(1);
    private final ThreadPoolExecutor worker = new ThreadPoolExecutor(
            1, 1, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(QUEUE_LENGTH), DaemonThreads.named("granary-write-behind"));

    /** A primitive whose binaries are still inside the driver; compared by identity. */
    private static final class Compiled {
        private final Primitive primitive;
        private final Duration compileTime;

        Compiled(Primitive primitive, Duration compileTime) {
            this.primitive = primitive;
            this.compileTime = compileTime;
        }
    }

    WriteBehind(Tier local, Optional<Uploads> uploads, Counters counters, InstantSource clock, BiConsumer<Id, StoreResult> whenPublished) {
        this.local = local;
        this.uploads = uploads;
        this.counters = counters;
        this.clock = clock;
        this.whenPublished = whenPublished;
        this.producer = Producer.name();
    }

    /** Stores a compiled primitive's binaries as soon as they are whole. */
    void compiled(Primitive primitive, Duration compileTime) {
        Compiled compiled = new Compiled(primitive, compileTime);
        incomplete.add(compiled);
        primitive.onBinariesComplete(() -> take(compiled));
    }

    /** Stores an entry that came from the bucket in the local tier. */
    void fill(Entry entry) {
        submit(() -> local.store(entry));
    }

    /** Sends an entry of the local tier to the bucket as well. */
    void publish(Entry entry) {
        submit(() -> upload(entry, StoreResult.DUPLICATE));
    }

    /** Takes all binaries, whole or not (the driver is asked to complete them), and waits for all that is under way until the deadline. */
    boolean flush(long deadline) throws InterruptedException {
        incomplete.forEach(this::take);
        int phase = running.arrive();
        try {
            running.awaitAdvanceInterruptibly(phase, Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return false;
        }
        if (uploads.isPresent()) {
            uploads.get().awaitIdle(deadline);
            return uploads.get().isIdle();
        }
        return true;
    }

    @Override
    public void close() {
        counters.dropped.add(worker.shutdownNow().size());
        uploads.ifPresent(Uploads::close);
    }

    private void take(Compiled compiled) {
        if (incomplete.remove(compiled)) {
            submit(() -> takeNow(compiled));
        }
    }

    private void takeNow(Compiled compiled) {
        Primitive primitive = compiled.primitive;
        KernelBinaries binaries = primitive.getBinaries(BinaryKind.KERNEL);
        Id id = primitive.descriptor().getId();
        if (binaries.isEmpty()) {
            counters.withoutBinaries.increment();
            whenPublished.accept(id, new StoreResult.Failed("the driver gave no binaries"));
            return;
        }
        Entry entry = Entry.of(id, binaries, compiled.compileTime,
                new EntryMetadata(Version.NUMBER, producer, clock.instant(), primitive.kernels(), primitive.geometries(),
                        primitive.descriptor().readableKey()));
        StoreResult inLocalTier = local.store(entry);
        if (uploads.isPresent()) {
            upload(entry, inLocalTier);
        } else {
            whenPublished.accept(id, inLocalTier);
        }
    }

    private void upload(Entry entry, StoreResult inLocalTier) {
        uploads.ifPresent(bucket -> bucket.add(entry, inLocalTier, whenPublished));
    }

    private void submit(Runnable task) {
        running.register();
        try {
            worker.execute(() -> {
                try {
                    task.run();
                } catch (RuntimeException e) {
                    counters.withoutBinaries.increment();
                    WarnOnce.warn("write-behind", "An entry could not be stored: " + e);
                } finally {
                    running.arriveAndDeregister();
                }
            });
        } catch (RejectedExecutionException e) {
            running.arriveAndDeregister();
            counters.dropped.increment();
        }
    }
}
