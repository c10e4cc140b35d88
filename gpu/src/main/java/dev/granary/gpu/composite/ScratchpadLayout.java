package dev.granary.gpu.composite;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The layout of one primitive's scratchpad: its own parts, followed by the scratchpad of nested
 * primitives. Nested primitives run in sequence and keep nothing, so they share one region of the
 * largest size needed.
 */
final class ScratchpadLayout {
    /** Alignment of parts in bytes: more than any device requires of sub-buffers. */
    static final int ALIGNMENT = 4096;

    /** A part, in bytes from the start of the primitive's scratchpad. */
    record Part(long offset, long bytes) {}

    private final Map<String, Part> parts = new LinkedHashMap<>();
    private long ownBytes;
    private long bytes;

    /**
     * Adds a part.
     *
     * @throws IllegalArgumentException if there is a part of that name, or its size is not positive
     */
    void add(String name, long size) {
        if (size <= 0) {
            throw new IllegalArgumentException(
                    "The part " + name + " of a scratchpad needs a positive size, not " + size);
        }
        if (parts.putIfAbsent(name, new Part(ownBytes, size)) != null) {
            throw new IllegalArgumentException("The scratchpad has a part " + name + " already");
        }
        ownBytes = Math.addExact(ownBytes, aligned(size));
        bytes = ownBytes;
    }

    /** Completes the layout with the largest scratchpad that a nested primitive needs. */
    void complete(long nestedBytes) {
        bytes = Math.addExact(ownBytes, nestedBytes);
    }

    /** Returns the part of that name. */
    Part part(String name) {
        Part found = parts.get(name);
        if (found == null) {
            throw new IllegalArgumentException(
                    "The scratchpad has no part " + name + ", only " + parts.keySet());
        }
        return found;
    }

    /** Returns the offset of the nested primitives' scratchpad. */
    long nestedOffset() {
        return ownBytes;
    }

    /** Returns the total size, including that of nested primitives. */
    long bytes() {
        return bytes;
    }

    private static long aligned(long size) {
        return Math.addExact(size, ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}
