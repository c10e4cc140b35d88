package dev.granary.s3.pack.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Sha256;
import dev.granary.s3.pack.PackFixture;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/** The Bloom filter of the ids in a pack. */
class IdBloomFilterTest {
    private static final int ABSENT_IDS = 100_000;

    private final SplittableRandom random = TestSeed.random("IdBloomFilterTest");

    private List<Sha256> ids(int count) {
        return Stream.generate(() -> PackFixture.hash(random)).limit(count).toList();
    }

    private static IdBloomFilter written(IdBloomFilter filter) {
        ByteBuffer out = ByteBuffer.allocate(filter.byteSize());
        filter.writeTo(out);
        assertEquals(0, out.remaining());
        return IdBloomFilter.readFrom(out.flip());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 5, 6, 12, 19, 100, 1000, 20_000})
    @DisplayName(
            "R12 no present id is rejected, and at most one absent id in fifty is accepted, also"
                    + " after writing and reading")
    void errs(int count) {
        int filters = Math.max(1, 2000 / count);
        int falsePositives = 0;
        for (int f = 0; f < filters; f++) {
            List<Sha256> ids = ids(count);
            IdBloomFilter filter = written(IdBloomFilter.of(ids));
            assertTrue(ids.stream().allMatch(filter::mayContain));
            assertTrue(filter.hasRoomFor(count));
            for (int i = 0; i < ABSENT_IDS / filters; i++) {
                falsePositives += filter.mayContain(PackFixture.hash(random)) ? 1 : 0;
            }
        }
        int tested = ABSENT_IDS / filters * filters;
        assertTrue(
                falsePositives * 50L <= tested, falsePositives + " of " + tested + " absent ids");
    }

    @Test
    @DisplayName("the filter of no ids rejects all")
    void none() {
        IdBloomFilter filter = written(IdBloomFilter.of(List.of()));
        assertTrue(ids(1000).stream().noneMatch(filter::mayContain));
        assertFalse(filter.hasRoomFor(-1));
    }

    @Test
    @DisplayName("T5 lengths beyond the available bytes are refused before memory is allocated")
    void hostileLengths() {
        for (int length : new int[] {-1, 0, 3, Integer.MAX_VALUE, Integer.MIN_VALUE, 1 << 29}) {
            ByteBuffer stored =
                    ByteBuffer.allocate(Integer.BYTES + 2 * Long.BYTES).putInt(0, length);
            assertThrows(BufferUnderflowException.class, () -> IdBloomFilter.readFrom(stored));
        }
    }
}
