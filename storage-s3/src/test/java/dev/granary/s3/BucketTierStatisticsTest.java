package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.statistics.BucketTierStatistics.Breaker;
import dev.granary.s3.statistics.BucketTierStatistics.Requests;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;

/** Sums of the statistics of several connections. */
class BucketTierStatisticsTest {
    @Test
    @DisplayName("of two breakers, the state of the one that rejects more is shown")
    void twoBreakers() {
        var lookups =
                new BucketTierStatistics(new Requests(1, 2, 3, 4, 5), 1, Breaker.HALF_OPEN, 2);
        var packs = new BucketTierStatistics(new Requests(10, 20, 30, 40, 50), 3, Breaker.OPEN, 1);
        var sum = new BucketTierStatistics(new Requests(11, 22, 33, 44, 55), 4, Breaker.OPEN, 3);
        assertEquals(List.of(sum, sum), List.of(lookups.plus(packs), packs.plus(lookups)));
    }
}
