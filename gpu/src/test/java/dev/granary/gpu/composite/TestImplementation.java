package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Implementation of all primitives of one test, identified by name. The test sets the parts of each
 * primitive and an action during its creation. Needs no driver.
 */
final class TestImplementation implements CompositeImplementation<TestImplementation.Named> {
    static final Target TARGET = NoKernelEngine.target("one");
    static final EngineSet ENGINES = EngineSet.of(new NoKernelEngine(TARGET));

    /** The order in which a primitive obtains its parts. */
    enum PartOrder {
        SEQUENTIAL {
            @Override
            void obtain(CreationContext creation, List<CompositeDescriptor<?>> parts)
                    throws CompileException {
                for (CompositeDescriptor<?> part : parts) {
                    creation.nested(part);
                }
            }
        },
        PARALLEL {
            @Override
            void obtain(CreationContext creation, List<CompositeDescriptor<?>> parts)
                    throws CompileException {
                creation.nested(parts);
            }
        };

        abstract void obtain(CreationContext creation, List<CompositeDescriptor<?>> parts)
                throws CompileException;
    }

    /** An action during the creation of a primitive. */
    interface CreationAction {
        void run(String name) throws CompileException;
    }

    /** An operation identified by name. */
    record Named(String name) {}

    private final CompositeCache composites;
    private final PartOrder order;
    final AtomicInteger creations = new AtomicInteger();
    volatile Map<String, List<String>> parts = Map.of();
    volatile CreationAction action = _ -> {};

    TestImplementation(CompositeCache composites, PartOrder order) {
        this.composites = composites;
        this.order = order;
    }

    CompositeDescriptor<Named> descriptor(String name) {
        return CompositeDescriptor.builder(TARGET, new Named(name), this).build();
    }

    CompositePrimitive create(String name) throws CompileException {
        return composites.primitive(ENGINES, descriptor(name));
    }

    @Override
    public ExecutionBody create(CompositeDescriptor<Named> descriptor, CreationContext creation)
            throws CompileException {
        creations.incrementAndGet();
        String name = descriptor.operation().name();
        action.run(name);
        order.obtain(
                creation,
                parts.getOrDefault(name, List.of()).stream()
                        .<CompositeDescriptor<?>>map(this::descriptor)
                        .toList());
        return _ -> {};
    }

    /** Waits without reaction to interrupts, as a compiler does. */
    static void await(CountDownLatch latch) {
        while (latch.getCount() > 0) {
            LockSupport.parkNanos(100_000);
        }
    }
}
