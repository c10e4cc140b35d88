package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** The implementation of all primitives of one test, which have names: what parts each has, and what happens when it is created. No driver. */
final class TestImplementation implements CompositeImplementation<TestImplementation.Named> {
    static final Target TARGET = NoKernelEngine.target("one");
    static final EngineSet ENGINES = EngineSet.of(new NoKernelEngine(TARGET));

    /** How a primitive obtains its parts. */
    enum Way {
        ONE_BY_ONE {
            @Override
            void obtain(CreationContext creation, List<CompositeDescriptor<?>> parts) throws CompileException {
                for (CompositeDescriptor<?> part : parts) {
                    creation.nested(part);
                }
            }
        },
        TOGETHER {
            @Override
            void obtain(CreationContext creation, List<CompositeDescriptor<?>> parts) throws CompileException {
                creation.nested(parts);
            }
        };

        abstract void obtain(CreationContext creation, List<CompositeDescriptor<?>> parts) throws CompileException;
    }

    /** Something to do while a primitive is created. */
    interface Doing {
        void act(String name) throws CompileException;
    }

    /** A primitive by name. */
    record Named(String name) {}

    private final CompositeCache composites;
    private final Way way;
    final AtomicInteger creations = new AtomicInteger();
    volatile Map<String, List<String>> parts = Map.of();
    volatile Doing doing = _ -> {};

    TestImplementation(CompositeCache composites, Way way) {
        this.composites = composites;
        this.way = way;
    }

    CompositeDescriptor<Named> descriptor(String name) {
        return CompositeDescriptor.builder(TARGET, new Named(name), this).build();
    }

    CompositePrimitive create(String name) throws CompileException {
        return composites.primitive(ENGINES, descriptor(name));
    }

    @Override
    public ExecutionBody create(CompositeDescriptor<Named> descriptor, CreationContext creation) throws CompileException {
        creations.incrementAndGet();
        String name = descriptor.operation().name();
        doing.act(name);
        way.obtain(creation, parts.getOrDefault(name, List.of()).stream().<CompositeDescriptor<?>>map(this::descriptor).toList());
        return _ -> {};
    }

    /** Waits whatever interrupts, as a compiler does. */
    static void await(CountDownLatch latch) {
        while (latch.getCount() > 0) {
            Thread.onSpinWait();
        }
    }
}
