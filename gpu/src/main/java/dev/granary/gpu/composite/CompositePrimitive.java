package dev.granary.gpu.composite;

import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A primitive of several kernels and of nested primitives, as the cache keeps it: immutable, without anything of a context. It holds the
 * kernels' programs, the nested primitives, and says what an execution needs: how much scratchpad, which constant memory. Shared between
 * threads and callers; {@link CompositeHandle} runs it.
 */
public final class CompositePrimitive {
    private final CompositeDescriptor<?> descriptor;
    private final ExecutionBody steps;
    private final Map<PrimitiveDescriptor, Primitive> kernels;
    private final Map<CompositeDescriptor<?>, CompositePrimitive> nested;
    private final Map<String, MemorySegment> constants;
    private final ScratchpadLayout scratchpad;

    CompositePrimitive(
            CompositeDescriptor<?> descriptor,
            ExecutionBody steps,
            Map<PrimitiveDescriptor, Primitive> kernels,
            Map<CompositeDescriptor<?>, CompositePrimitive> nested,
            Map<String, MemorySegment> constants,
            ScratchpadLayout scratchpad) {
        this.descriptor = descriptor;
        this.steps = steps;
        this.kernels = Collections.unmodifiableMap(new LinkedHashMap<>(kernels));
        this.nested = Collections.unmodifiableMap(new LinkedHashMap<>(nested));
        this.constants = Collections.unmodifiableMap(new LinkedHashMap<>(constants));
        this.scratchpad = scratchpad;
    }

    /** What it is, the key of the cache. */
    public CompositeDescriptor<?> descriptor() {
        return descriptor;
    }

    /** The programs that it launches kernels of itself, without those of nested primitives. */
    public Collection<Primitive> kernels() {
        return kernels.values();
    }

    /** The primitives that it runs. */
    public Collection<CompositePrimitive> nested() {
        return nested.values();
    }

    /** How much scratchpad an execution needs, in bytes, that of nested primitives included; 0 where it needs none. */
    public long scratchpadBytes() {
        return scratchpad.bytes();
    }

    ExecutionBody steps() {
        return steps;
    }

    ScratchpadLayout scratchpad() {
        return scratchpad;
    }

    /** The content of its constant memory, by name. */
    Map<String, MemorySegment> constants() {
        return constants;
    }

    /** Its own nested primitive that equals that one. */
    CompositePrimitive nested(CompositePrimitive equal) {
        CompositePrimitive found = nested.get(equal.descriptor);
        if (found == null) {
            throw new IllegalArgumentException(descriptor.kind() + " runs " + equal.descriptor.kind()
                    + ", which is not nested in it: obtain it in Implementation.create");
        }
        return found;
    }

    @Override
    public String toString() {
        return descriptor.toString();
    }
}
