package dev.granary.s3.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.store.StoreFailure;
import dev.granary.testing.TestSeed;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import java.util.SplittableRandom;

/** Tests of bodies of unknown length. */
class BoundedBodyReaderTest {
    private final SplittableRandom random = TestSeed.random("BoundedBodyReaderTest");

    @Test
    @DisplayName("any length is read completely within the limit and not at all beyond it, whatever"
            + " the declared length")
    void lengths() throws IOException {
        for (int length : new int[] {0, 1, 2, 1000, 1 << 20, (1 << 20) + 1, 5_000_000}) {
            byte[] body = new byte[length];
            random.nextBytes(body);
            for (long declared :
                    new long[] {-1, 0, length - 1, length, length + 1, 10L * length, Long.MAX_VALUE
                    }) {
                for (long limit : new long[] {length, length + 1, 1 << 30}) {
                    MemorySegment read = BoundedBodyReader.read(
                            new ByteArrayInputStream(body), declared, limit, Long.MAX_VALUE);
                    if (declared > limit) {
                        assertNull(read);
                        continue;
                    }
                    assertArrayEquals(body, present(read).toArray(ValueLayout.JAVA_BYTE));
                }
                if (length > 0) {
                    assertNull(BoundedBodyReader.read(
                            new ByteArrayInputStream(body), declared, length - 1, Long.MAX_VALUE));
                }
            }
        }
    }

    @Test
    @DisplayName("a huge declared length allocates no memory for it")
    void hugeDeclaredLength() throws IOException {
        MemorySegment read = present(BoundedBodyReader.read(
                new ByteArrayInputStream(new byte[10]), 1L << 40, 1L << 50, Long.MAX_VALUE));
        assertTrue(read.byteSize() == 10);
        Object array = read.heapBase().orElseThrow();
        assertTrue(((byte[]) array).length <= 1 << 20);
    }

    @Test
    @DisplayName(
            "a length over the limit is reported before a byte is read; one over this process's"
                    + " memory is a failure, not of the object")
    void memory() throws IOException {
        InputStream unreadBody = new InputStream() {
            @Override
            public int read() {
                throw new AssertionError("nothing may be read");
            }

            @Override
            public int read(byte[] into, int offset, int length) {
                return read();
            }
        };
        assertNull(BoundedBodyReader.read(unreadBody, 5368709120L, 1L << 30, 1L << 26));
        assertThrows(
                TooLittleMemoryException.class,
                () -> BoundedBodyReader.read(unreadBody, 1L << 27, 1L << 30, 1L << 26));
        InputStream endless = new InputStream() {
            @Override
            public int read() {
                return 1;
            }

            @Override
            public int read(byte[] into, int offset, int length) {
                return length;
            }
        };
        assertThrows(
                TooLittleMemoryException.class,
                () -> BoundedBodyReader.read(endless, -1, 1L << 30, 1L << 21));
        assertNull(BoundedBodyReader.read(endless, -1, 1L << 20, 1L << 21));
        StoreFailure failure = ResponseClassifier.failure(new TooLittleMemoryException(1000));
        assertEquals(StoreFailure.Kind.NO_MEMORY, failure.kind());
        assertTrue(
                failure.message().contains("more than the 1000 bytes") && !failure.isTransient(),
                failure::toString);
    }

    private static MemorySegment present(@Nullable MemorySegment segment) {
        return Objects.requireNonNull(segment);
    }
}
