package dev.granary.cache;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The ordered byte strings of one primitive, compared by content. Immutable, thread-safe.
 *
 * <p>The bytes lie in memory segments, on the heap or outside, so that what a store has verified can go to a driver without another
 * copy. No binaries at all say that the primitive does not support the kind that was asked for.
 */
public final class KernelBinaries {
    private static final KernelBinaries NONE = new KernelBinaries(List.of());

    private final List<MemorySegment> given;
    private final List<MemorySegment> segments; // the same, read-only

    private KernelBinaries(List<MemorySegment> given) {
        this.given = List.copyOf(given);
        this.segments = given.stream().map(MemorySegment::asReadOnly).toList();
    }

    /** No binaries: not supported for this primitive. */
    public static KernelBinaries none() {
        return NONE;
    }

    /** Binaries with a copy of each array. */
    public static KernelBinaries of(byte[]... binaries) {
        return ofSegments(Arrays.stream(binaries).map(b -> MemorySegment.ofArray(b.clone())).toList());
    }

    /**
     * Binaries that keep the segments themselves: nobody may write to them any more, and they must stay alive, for all threads, as long as
     * this object. Each is native memory or a view of a byte array.
     */
    public static KernelBinaries ofSegments(List<MemorySegment> segments) {
        return segments.isEmpty() ? NONE : new KernelBinaries(segments);
    }

    /** True where there is no binary. */
    public boolean isEmpty() {
        return segments.isEmpty();
    }

    /** How many binaries there are. */
    public int count() {
        return segments.size();
    }

    /** Binary number {@code index}, from 0, read-only. */
    public MemorySegment binary(int index) {
        return segments.get(index);
    }

    /** All binaries in order, read-only. */
    public List<MemorySegment> segments() {
        return segments;
    }

    /** The same, for readers that may be trusted not to write: a digest copies what is read-only before it reads it. */
    List<MemorySegment> given() {
        return given;
    }

    /** The length of all binaries together, in bytes. */
    public long byteSize() {
        return segments.stream().mapToLong(MemorySegment::byteSize).sum();
    }

    /** A copy of all binaries. */
    public List<byte[]> toByteArrays() {
        List<byte[]> copies = new ArrayList<>(segments.size());
        for (MemorySegment segment : segments) {
            copies.add(segment.toArray(ValueLayout.JAVA_BYTE));
        }
        return copies;
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof KernelBinaries that) || segments.size() != that.segments.size()) {
            return false;
        }
        for (int i = 0; i < segments.size(); i++) {
            if (segments.get(i).byteSize() != that.segments.get(i).byteSize() || segments.get(i).mismatch(that.segments.get(i)) >= 0) {
                return false;
            }
        }
        return true;
    }

    @Override
    public int hashCode() {
        int hash = segments.size();
        for (MemorySegment segment : segments) {
            hash = 31 * hash + segment.asSlice(0, Math.min(segment.byteSize(), Integer.MAX_VALUE)).asByteBuffer().hashCode();
        }
        return hash;
    }

    @Override
    public String toString() {
        return segments.size() + " binaries of " + byteSize() + " bytes";
    }
}
