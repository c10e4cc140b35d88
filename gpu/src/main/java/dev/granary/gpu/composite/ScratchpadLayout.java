package dev.granary.gpu.composite;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Where the parts of one primitive's scratchpad lie, and where that of its nested primitives begins. Nested ones run one after the other and
 * keep nothing, so they share one place: it is as large as the largest needs.
 */
final class ScratchpadLayout {
    /** Parts begin at multiples of this, in bytes: more than any device asks of the parts of a buffer. */
    static final int ALIGNMENT = 4096;

    /** A part, in bytes from the beginning of the primitive's scratchpad. */
    record Part(long offset, long bytes) {}

    private final Map<String, Part> parts = new LinkedHashMap<>();
    private long ownBytes;
    private long bytes;

    /**
     * Adds a part.
     *
     * @throws IllegalArgumentException if there is one of that name, or it has no positive size
     */
    void add(String name, long size) {
        if (size <= 0) {
            throw new IllegalArgumentException("The part " + name + " of a scratchpad needs a positive size, not " + size);
        }
        if (parts.putIfAbsent(name, new Part(ownBytes, size)) != null) {
            throw new IllegalArgumentException("The scratchpad has a part " + name + " already");
        }
        ownBytes = Math.addExact(ownBytes, aligned(size));
        bytes = ownBytes;
    }

    /** Nothing is added any more: the nested primitives are known. */
    void end(Collection<CompositePrimitive> nested) {
        bytes = Math.addExact(ownBytes, nested.stream().mapToLong(CompositePrimitive::scratchpadBytes).max().orElse(0));
    }

    Part part(String name) {
        Part found = parts.get(name);
        if (found == null) {
            throw new IllegalArgumentException("The scratchpad has no part " + name + ", only " + parts.keySet());
        }
        return found;
    }

    /** Where the scratchpad of nested primitives begins. */
    long nestedOffset() {
        return ownBytes;
    }

    /** The whole size, that of nested primitives included. */
    long bytes() {
        return bytes;
    }

    private static long aligned(long size) {
        return Math.addExact(size, ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}
