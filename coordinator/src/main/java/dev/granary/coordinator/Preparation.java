package dev.granary.coordinator;

import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Primitive;
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
 *     another process or machine
 * @param compiled how many this process compiled
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
        return new Run<D>(granary, engine, List.copyOf(descriptors), progress).start();
    }

    /** A preparation that is under way. */
    private static final class Run<D extends PrimitiveDescriptor> {
        private final Granary granary;
        private final Engine<D, ?> engine;
        private final List<D> descriptors;
        private final Consumer<Preparation> progress;
        private final CompletableFuture<Preparation> result = new CompletableFuture<>();
        private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        private final Map<PrimitiveDescriptor, CompileException> failures = new HashMap<>();
        private int found;
        private int compiled;

        Run(
                Granary granary,
                Engine<D, ?> engine,
                List<D> descriptors,
                Consumer<Preparation> progress) {
            this.granary = granary;
            this.engine = engine;
            this.descriptors = descriptors;
            this.progress = progress;
        }

        CompletableFuture<Preparation> start() {
            DaemonThreads.named("granary-prepare").newThread(this::run).start();
            return result;
        }

        private void run() {
            try {
                Queue<D> missing = new ConcurrentLinkedQueue<>();
                inParallel(FINDERS, descriptors, descriptor -> find(engine, descriptor, missing));
                // machines that prepare the same primitives divide the work by their claims
                List<D> order = new ArrayList<>(missing);
                Collections.shuffle(order);
                Queue<D> claimed = new ConcurrentLinkedQueue<>();
                int compilers = Runtime.getRuntime().availableProcessors();
                inParallel(compilers, order, descriptor -> compile(engine, descriptor, claimed));
                inParallel(FINDERS, claimed, descriptor -> compile(engine, descriptor));
                Throwable broken = failure.get();
                if (broken == null) {
                    result.complete(state());
                } else {
                    result.completeExceptionally(broken);
                }
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        }

        /** Calls {@code action} for each descriptor; ends early after a failure or a cancel. */
        private void inParallel(int threads, Collection<D> all, Consumer<D> action) {
            try (var pool = Executors.newFixedThreadPool(
                    Math.clamp(all.size(), 1, threads), DaemonThreads.named("granary-prepare"))) {
                for (D descriptor : all) {
                    pool.execute(() -> {
                        try {
                            if (!result.isDone() && failure.get() == null) {
                                action.accept(descriptor);
                            }
                        } catch (Throwable e) {
                            failure.compareAndSet(null, e);
                        }
                    });
                }
            }
        }

        private <P extends Primitive> void find(
                Engine<D, P> engine, D descriptor, Queue<D> missing) {
            if (granary.find(engine, descriptor).isPresent()) {
                report(() -> found++);
            } else {
                missing.add(descriptor);
            }
        }

        /** Compiles a primitive, or notes that another machine does. */
        private <P extends Primitive> void compile(
                Engine<D, P> engine, D descriptor, Queue<D> claimed) {
            try {
                granary.lookupUnclaimed(engine, descriptor)
                        .ifPresentOrElse(this::obtained, () -> claimed.add(descriptor));
            } catch (CompileException e) {
                report(() -> failures.put(descriptor, e));
            }
        }

        private <P extends Primitive> void compile(Engine<D, P> engine, D descriptor) {
            try {
                obtained(granary.lookup(engine, descriptor));
            } catch (CompileException e) {
                report(() -> failures.put(descriptor, e));
            }
        }

        private void obtained(LookupResult<?> result) {
            report(() -> {
                if (result.source() == PrimitiveSource.COMPILED
                        || result.source() == PrimitiveSource.JOINED) {
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
            return new Preparation(descriptors.size(), found, compiled, failures);
        }
    }
}
