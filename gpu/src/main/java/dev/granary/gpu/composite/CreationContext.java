package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * The creation of one composite primitive under way: what an {@link CompositeImplementation} obtains its parts from. Thread-safe, so parts may be
 * obtained by several threads at once. It ends with {@link CompositeImplementation#create}; what is called afterwards is an
 * {@link IllegalStateException}.
 */
public final class CreationContext {
    private final CompositeCache cache;
    private final CompositeDescriptor<?> descriptor;
    private @Nullable EngineSet engines; // guarded by this; none when the creation is over, so that no primitive keeps an engine
    private final Map<PrimitiveDescriptor, Primitive> kernels = new LinkedHashMap<>(); // guarded by this, as all below
    private final Map<CompositeDescriptor<?>, CompositePrimitive> nested = new LinkedHashMap<>();
    private final Map<String, MemorySegment> constants = new LinkedHashMap<>();
    private final ScratchpadLayout scratchpad = new ScratchpadLayout();

    CreationContext(CompositeCache cache, CompositeDescriptor<?> descriptor, EngineSet engines) {
        this.cache = cache;
        this.descriptor = descriptor;
        this.engines = engines;
    }

    /**
     * The program of kernels that {@code kernel} describes: one for all primitives that use it.
     *
     * @throws CompileException if it does not compile
     * @throws IllegalArgumentException if it is for a target that none of the primitive's engines has
     */
    public Primitive kernel(KernelDescriptor kernel) throws CompileException {
        Primitive program = program(engines().engineFor(kernel.target()), kernel);
        program.outliveEngine(); // who creates engines for a single call must not compile for each
        synchronized (this) {
            engines();
            kernels.put(program.descriptor(), program);
        }
        return program;
    }

    private <P extends Primitive> P program(KernelEngine<P> engine, KernelDescriptor kernel) throws CompileException {
        return cache.kernels().kernel(engine, kernel);
    }

    /** Like {@link #kernel}, all at once: the result is in the order of the descriptors. */
    public List<Primitive> kernels(List<KernelDescriptor> all) throws CompileException {
        return ParallelCalls.call(all.stream().<Callable<Primitive>>map(one -> () -> kernel(one)).toList());
    }

    /**
     * The nested primitive that {@code part} describes, from the same cache.
     *
     * @throws CompileException if one of its kernels does not compile
     * @throws IllegalStateException if the primitive turns out to need itself
     * @throws IllegalArgumentException if it is for a target that none of the primitive's engines has
     */
    public CompositePrimitive nested(CompositeDescriptor<?> part) throws CompileException {
        CompositePrimitive primitive = cache.nested(engines().forNested(part), descriptor, part);
        synchronized (this) {
            engines();
            CompositePrimitive known = nested.putIfAbsent(part, primitive);
            return known == null ? primitive : known;
        }
    }

    /** Like {@link #nested(CompositeDescriptor)}, all at once: the result is in the order of the descriptors. */
    public List<CompositePrimitive> nested(List<? extends CompositeDescriptor<?>> parts) throws CompileException {
        return ParallelCalls.call(parts.stream().<Callable<CompositePrimitive>>map(part -> () -> nested(part)).toList());
    }

    /**
     * Asks for a part of the scratchpad: memory of the main engine that an execution may use and that keeps nothing between executions. The
     * handle has it; what nested primitives need comes on top by itself.
     *
     * @throws IllegalArgumentException if there is a part of that name, or {@code bytes} is not positive
     */
    public synchronized void scratchpad(String name, long bytes) {
        engines();
        scratchpad.add(name, bytes);
    }

    /**
     * Asks for constant memory on the main engine, such as scales: each handle has it, filled with that content, which is copied.
     *
     * @throws IllegalArgumentException if there is constant memory of that name, or the content is empty
     */
    public synchronized void constant(String name, MemorySegment content) {
        engines();
        if (content.byteSize() == 0) {
            throw new IllegalArgumentException("The constant memory " + name + " has no content");
        }
        byte[] copy = content.toArray(ValueLayout.JAVA_BYTE);
        if (constants.putIfAbsent(name, MemorySegment.ofArray(copy).asReadOnly()) != null) {
            throw new IllegalArgumentException("There is constant memory " + name + " already");
        }
    }

    /** Like {@link #constant(String, MemorySegment)}. */
    public void constant(String name, float... content) {
        constant(name, MemorySegment.ofArray(content));
    }

    synchronized CompositePrimitive end(ExecutionBody steps) {
        scratchpad.end(nested.values());
        return new CompositePrimitive(descriptor, steps, kernels, nested, constants, scratchpad);
    }

    /** Nobody may use this any more, whether it worked or not. */
    synchronized void over() {
        engines = null;
    }

    private synchronized EngineSet engines() {
        EngineSet known = engines;
        if (known == null) {
            throw new IllegalStateException(
                    "The creation of " + descriptor.kind() + " is over: obtain all parts in Implementation.create");
        }
        return known;
    }
}
