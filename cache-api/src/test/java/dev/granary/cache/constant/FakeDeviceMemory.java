package dev.granary.cache.constant;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** A fake device memory that counts allocated, freed and doubly freed pieces. */
final class FakeDeviceMemory {
    static final long MEGABYTE = 1L << 20;
    static final Object CONTEXT = "context";

    private final AtomicInteger allocated = new AtomicInteger();
    private final AtomicInteger freed = new AtomicInteger();
    private final AtomicInteger freedTwice = new AtomicInteger();
    private final AtomicLong liveBytes = new AtomicLong();

    /** A piece of the memory. */
    final class Piece implements AutoCloseable {
        final Object content;
        final long bytes;
        private final AtomicInteger closes = new AtomicInteger();

        private Piece(Object content, long bytes) {
            this.content = content;
            this.bytes = bytes;
        }

        boolean isFreed() {
            return closes.get() > 0;
        }

        @Override
        public void close() {
            if (closes.incrementAndGet() > 1) {
                freedTwice.incrementAndGet();
                return;
            }
            freed.incrementAndGet();
            liveBytes.addAndGet(-bytes);
        }
    }

    Piece allocate(Object content, long bytes) {
        allocated.incrementAndGet();
        liveBytes.addAndGet(bytes);
        return new Piece(content, bytes);
    }

    int allocated() {
        return allocated.get();
    }

    /** Returns the number of pieces in use. */
    int live() {
        return allocated.get() - freed.get();
    }

    long liveBytes() {
        return liveBytes.get();
    }

    /** Checks that every piece was freed exactly once. */
    void assertAllFreed() {
        assertEquals(0, freedTwice.get(), "freed twice");
        assertEquals(0, live(), "not freed");
        assertEquals(0, liveBytes.get());
    }

    int freedTwice() {
        return freedTwice.get();
    }

    static ConstantTensorCache.Key<Piece> key(Object key) {
        return new ConstantTensorCache.Key<>(Piece.class, "test", CONTEXT, key);
    }

    /**
     * Gets a tensor of {@code megabytes} megabytes whose content is its key, and closes the hold.
     */
    void use(ConstantTensorCache cache, Object key, long megabytes) {
        take(cache, key, megabytes).close();
    }

    /** Gets a tensor of {@code megabytes} megabytes whose content is its key. */
    ConstantHold<Piece> take(ConstantTensorCache cache, Object key, long megabytes) {
        return cache.get(key(key), megabytes * MEGABYTE, () -> allocate(key, megabytes * MEGABYTE));
    }
}
