package dev.granary.benchmarks.bucket.fleet;

import java.util.Arrays;

/**
 * Queue of future events in the order of their times: a binary heap of numbers, since there are
 * many millions. Not thread-safe.
 */
final class EventQueue {
    private static final int SLOT_BITS = 24;

    private long[] heap = new long[1024];
    private int size;

    /** Adds an event of {@code slot}, a number below 2^24, at that time. */
    void add(long micros, int slot) {
        if (size == heap.length) {
            heap = Arrays.copyOf(heap, 2 * size);
        }
        long event = (micros << SLOT_BITS) | slot;
        int at = size++;
        while (at > 0 && heap[(at - 1) / 2] > event) {
            heap[at] = heap[(at - 1) / 2];
            at = (at - 1) / 2;
        }
        heap[at] = event;
    }

    boolean isEmpty() {
        return size == 0;
    }

    /** Removes the first event; {@link #micros} and {@link #slot} return its values. */
    long poll() {
        long first = heap[0];
        long last = heap[--size];
        int at = 0;
        for (int child = 1; child < size; child = 2 * at + 1) {
            if (child + 1 < size && heap[child + 1] < heap[child]) {
                child++;
            }
            if (heap[child] >= last) {
                break;
            }
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = last;
        return first;
    }

    static long micros(long event) {
        return event >>> SLOT_BITS;
    }

    static int slot(long event) {
        return (int) event & ((1 << SLOT_BITS) - 1);
    }
}
