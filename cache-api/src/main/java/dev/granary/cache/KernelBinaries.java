package dev.granary.cache;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The ordered binaries of one primitive, compared by content. Immutable and thread-safe.
 *
 * <p>The bytes are in memory segments, on or off the heap, so that verified bytes reach a driver
 * without another copy. An empty list means that the primitive does not support the requested kind.
 */
public final class KernelBinaries {
    private static final KernelBinaries NONE = new KernelBinaries(List.of());

    private final List<MemorySegment> given;
    private final List<MemorySegment> segments; // read-only views of given
    private final long byteSize;

    private KernelBinaries(List<MemorySegment> given) {
        // Loops: a lookup in a new process runs in the interpreter, where streams are slow.
        MemorySegment[] readOnly = new MemorySegment[given.size()];
        long bytes = 0;
        for (int i = 0; i < readOnly.length; i++) {
            readOnly[i] = given.get(i).asReadOnly();
            bytes += readOnly[i].byteSize();
        }
        this.given = List.copyOf(given);
        this.segments = List.of(readOnly);
        this.byteSize = bytes;
    }

    /** Returns no binaries: the primitive does not support the requested kind. */
    public static KernelBinaries none() {
        return NONE;
    }

    /** Returns binaries with a copy of each array. */
    public static KernelBinaries of(byte[]... binaries) {
        return ofSegments(Arrays.stream(binaries)
                .map(b -> MemorySegment.ofArray(b.clone()))
                .toList());
    }

    /**
     * Returns binaries backed by these segments, without a copy. Their content must not change, and
     * they must stay accessible to all threads as long as this object is used.
     *
     * @param segments native memory or views of byte arrays
     */
    public static KernelBinaries ofSegments(List<MemorySegment> segments) {
        return segments.isEmpty() ? NONE : new KernelBinaries(segments);
    }

    /** Returns true if there are no binaries. */
    public boolean isEmpty() {
        return segments.isEmpty();
    }

    /** Returns all binaries in order, read-only. */
    public List<MemorySegment> segments() {
        return segments;
    }

    /**
     * Returns the segments as given, for readers trusted not to write. Digests copy read-only
     * segments before they read them.
     */
    List<MemorySegment> given() {
        return given;
    }

    /** Returns the total length of all binaries in bytes. */
    public long byteSize() {
        return byteSize;
    }

    /** Returns a copy of all binaries. */
    public List<byte[]> toByteArrays() {
        return segments.stream()
                .map(segment -> segment.toArray(ValueLayout.JAVA_BYTE))
                .toList();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof KernelBinaries that
                && segments.size() == that.segments.size()
                && IntStream.range(0, segments.size())
                        .allMatch(i -> segments.get(i).mismatch(that.segments.get(i)) < 0);
    }

    @Override
    public int hashCode() {
        return 31 * segments.size() + Long.hashCode(byteSize);
    }

    @Override
    public String toString() {
        return segments.size() + " binaries of " + byteSize() + " bytes";
    }
}
