package dev.granary.local.file;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Recorder of the last uses of entries by slot, in the memory of this process, until they are
 * written to the index. Lock-free: if two threads race, one of their times is lost, which are about
 * the same.
 */
final class UseRecorder {
    private static final int CHUNK = 512;

    private final AtomicReferenceArray<long[]> chunks; // allocated at the first use; 0 is no use

    /** Creates a recorder without uses, for an index of {@code slots} slots. */
    UseRecorder(int slots) {
        this.chunks = new AtomicReferenceArray<>(Math.max(1, slots / CHUNK));
    }

    /** Visitor of recorded uses. */
    interface UseVisitor {
        void visit(int slot, long micros);
    }

    void record(int slot, long micros) {
        long[] chunk = chunks.get(slot / CHUNK);
        if (chunk == null) {
            chunks.compareAndSet(slot / CHUNK, null, new long[CHUNK]);
            chunk = chunks.get(slot / CHUNK);
        }
        chunk[slot % CHUNK] = micros;
    }

    /** Discards the use of a slot that gets another entry. */
    void discard(int slot) {
        long[] chunk = chunks.get(slot / CHUNK);
        if (chunk != null) {
            chunk[slot % CHUNK] = 0;
        }
    }

    /** Passes each recorded use to {@code visitor}, and discards it. */
    void drain(UseVisitor visitor) {
        for (int i = 0; i < chunks.length(); i++) {
            long[] chunk = chunks.get(i);
            for (int j = 0; chunk != null && j < chunk.length; j++) {
                if (chunk[j] != 0) {
                    visitor.visit(i * CHUNK + j, chunk[j]);
                    chunk[j] = 0;
                }
            }
        }
    }
}
