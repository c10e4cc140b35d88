package dev.granary.gpu.composite;

import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;

import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A primitive of several kernels and nested primitives, as cached. It holds the programs, the
 * nested primitives, the scratchpad layout and the content of constant memory. Immutable, without
 * state of a context, and shared between threads and callers. A {@link CompositeHandle} runs it.
 */
public final class CompositePrimitive {
    private final CompositeDescriptor<?> descriptor;
    private final ExecutionBody body;
    private final Map<PrimitiveDescriptor, Primitive> kernels;
    private final Map<CompositeDescriptor<?>, CompositePrimitive> nested;
    private final Map<String, MemorySegment> constants;
    private final ScratchpadLayout scratchpad;

    CompositePrimitive(
            CompositeDescriptor<?> descriptor,
            ExecutionBody body,
            Map<PrimitiveDescriptor, Primitive> kernels,
            Map<CompositeDescriptor<?>, CompositePrimitive> nested,
            Map<String, MemorySegment> constants,
            ScratchpadLayout scratchpad) {
        this.descriptor = descriptor;
        this.body = body;
        this.kernels = Collections.unmodifiableMap(new LinkedHashMap<>(kernels));
        this.nested = Collections.unmodifiableMap(new LinkedHashMap<>(nested));
        this.constants = Collections.unmodifiableMap(new LinkedHashMap<>(constants));
        this.scratchpad = scratchpad;
    }

    /** Returns the descriptor, which is the cache key. */
    public CompositeDescriptor<?> descriptor() {
        return descriptor;
    }

    /** Returns its own programs, without those of nested primitives. */
    public Collection<Primitive> kernels() {
        return kernels.values();
    }

    /** Returns the nested primitives. */
    public Collection<CompositePrimitive> nested() {
        return nested.values();
    }

    /**
     * Returns the scratchpad size in bytes, including that of nested primitives; 0 if none is
     * needed.
     */
    public long scratchpadBytes() {
        return scratchpad.bytes();
    }

    ExecutionBody body() {
        return body;
    }

    ScratchpadLayout scratchpad() {
        return scratchpad;
    }

    /** Returns the content of its constant memory by name. */
    Map<String, MemorySegment> constants() {
        return constants;
    }

    /** Returns its nested primitive that equals the given one. */
    CompositePrimitive nested(CompositePrimitive other) {
        CompositePrimitive found = nested.get(other.descriptor);
        if (found == null) {
            throw new IllegalArgumentException(
                    descriptor.kind() + " runs " + other.descriptor.kind()
                            + ", which is not nested in it: obtain it in"
                            + " CompositeImplementation.create");
        }
        return found;
    }

    @Override
    public String toString() {
        return descriptor.toString();
    }
}
