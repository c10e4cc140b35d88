package dev.granary.s3.pack.format;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Sha256;
import dev.granary.s3.pack.PackFixture;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
        return IdBloomFilter.decoded(filter.encoded());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 5, 6, 12, 19, 100, 1000, 20_000})
    @DisplayName("no present id is rejected, and at most one absent id in 500 is accepted, also"
            + " after writing and reading")
    void errs(int count) {
        int filters = Math.max(1, 2000 / count);
        int falsePositives = 0;
        for (int f = 0; f < filters; f++) {
            List<Sha256> ids = ids(count);
            IdBloomFilter filter = written(IdBloomFilter.of(ids));
            assertTrue(ids.stream().allMatch(filter::mayContain));
            for (int i = 0; i < ABSENT_IDS / filters; i++) {
                falsePositives += filter.mayContain(PackFixture.hash(random)) ? 1 : 0;
            }
        }
        int tested = ABSENT_IDS / filters * filters;
        assertTrue(
                falsePositives * 500L <= tested, falsePositives + " of " + tested + " absent ids");
    }

    @Test
    @DisplayName("the filter of no ids rejects all")
    void none() {
        IdBloomFilter filter = written(IdBloomFilter.of(List.of()));
        assertTrue(ids(1000).stream().noneMatch(filter::mayContain));
    }

    @Test
    @DisplayName("a text that is no filter is refused")
    void hostileTexts() {
        for (String text :
                List.of("", "AAAA", "AAAAAAAAAAA=A", "!".repeat(12), "AAAAAAAAAAAAAAA=")) {
            assertThrows(IllegalArgumentException.class, () -> IdBloomFilter.decoded(text));
        }
    }
}
