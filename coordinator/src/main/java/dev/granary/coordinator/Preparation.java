package dev.granary.coordinator;

import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.coordinator.statistics.PrimitiveSource;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * State of a {@linkplain Granary#prepare preparation}. Immutable.
 *
 * @param total the number of primitives to prepare
 * @param found how many the memory, the local tier or a layer had, at once or after the compile of
 *     another lookup, process or machine
 * @param compiled how many were compiled
 * @param failures the descriptors that did not compile, with the cause of each
 */
public record Preparation(
        int total, int found, int compiled, Map<PrimitiveDescriptor, CompileException> failures) {
    /** The number of lookups at once that do not compile: they wait for disks and buckets. */
    private static final int FINDERS = 8;

    /** Copies {@code failures}. */
    public Preparation {
        failures = Map.copyOf(failures);
    }

    /** Returns how many primitives are ready or have failed. */
    public int done() {
        return found + compiled + failures.size();
    }

    /** Starts a preparation. */
    static <D extends PrimitiveDescriptor> CompletableFuture<Preparation> start(
            Granary granary,
            Engine<D, ?> engine,
            Collection<? extends D> descriptors,
            Consumer<Preparation> progress) {
        List<D> all = List.copyOf(descriptors);
        Run<D> run = new Run<>(all.size(), progress);
        DaemonThreads.named("granary-prepare")
                .newThread(() -> run.run(granary, engine, all))
                .start();
        return run.result;
    }

    /** A lookup of one primitive; empty if it is left to the next step. */
    @FunctionalInterface
    private interface Step<D> {
        Optional<? extends LookupResult<?>> lookup(D descriptor) throws CompileException;
    }

    /** A preparation that is under way. */
    private static final class Run<D extends PrimitiveDescriptor> {
        private final int total;
        private final Consumer<Preparation> progress;
        private final CompletableFuture<Preparation> result = new CompletableFuture<>();
        private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        private final Map<PrimitiveDescriptor, CompileException> failures = new HashMap<>();
        private int found;
        private int compiled;

        Run(int total, Consumer<Preparation> progress) {
            this.total = total;
            this.progress = progress;
        }

        void run(Granary granary, Engine<D, ?> engine, List<D> descriptors) {
            try {
                List<D> missing = new ArrayList<>(
                        step(FINDERS, descriptors, each -> granary.find(engine, each)));
                // machines that prepare the same primitives divide the work by their claims
                Collections.shuffle(missing);
                Collection<D> claimed = step(
                        Runtime.getRuntime().availableProcessors(),
                        missing,
                        each -> granary.lookupUnclaimed(engine, each));
                step(FINDERS, claimed, each -> Optional.of(granary.lookup(engine, each)));
            } catch (Throwable e) {
                failure.compareAndSet(null, e);
            }
            Throwable broken = failure.get();
            if (broken == null) {
                result.complete(state());
            } else {
                result.completeExceptionally(broken); // now that no lookup runs any more
            }
        }

        /**
         * Looks up the descriptors, and returns those that are left. After a failure or a cancel no
         * lookup begins.
         */
        private Collection<D> step(int threads, Collection<D> descriptors, Step<D> step) {
            Queue<D> left = new ConcurrentLinkedQueue<>();
            try (var pool = Executors.newFixedThreadPool(
                    Math.clamp(descriptors.size(), 1, threads),
                    DaemonThreads.named("granary-prepare"))) {
                descriptors.forEach(each -> pool.execute(() -> {
                    try {
                        if (!result.isDone() && failure.get() == null) {
                            lookup(step, each, left);
                        }
                    } catch (Throwable e) {
                        failure.compareAndSet(null, e);
                    }
                }));
            }
            return left;
        }

        private void lookup(Step<D> step, D descriptor, Queue<D> left) {
            try {
                step.lookup(descriptor).ifPresentOrElse(this::obtained, () -> left.add(descriptor));
            } catch (CompileException e) {
                report(() -> failures.put(descriptor, e));
            }
        }

        private void obtained(LookupResult<?> obtained) {
            report(() -> {
                if (obtained.source() == PrimitiveSource.COMPILED) {
                    compiled++;
                } else {
                    found++;
                }
            });
        }

        /** Changes the state, and reports it, in one order for all threads. */
        private synchronized void report(Runnable change) {
            change.run();
            progress.accept(state());
        }

        private synchronized Preparation state() {
            return new Preparation(total, found, compiled, failures);
        }
    }
}
