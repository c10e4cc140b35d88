package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.TierStatistics;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Keeps books of what a tier answered, to compare them with its own. Thread-safe. */
final class Books {
    /** What is counted. */
    private enum Line {
        HIT,
        ABSENT,
        DAMAGED,
        UNAVAILABLE,
        STORED,
        DUPLICATE,
        DIVERGENT,
        REFUSED,
        FAILED,
        UNKNOWN
    }

    private final Map<Line, Long> counts = new EnumMap<>(Line.class);

    synchronized LoadResult enter(LoadResult result) {
        counts.merge(switch (result) {
            case LoadResult.Hit _ -> Line.HIT;
            case LoadResult.Absent _ -> Line.ABSENT;
            case LoadResult.Damaged _ -> Line.DAMAGED;
            case LoadResult.Unavailable _ -> Line.UNAVAILABLE;
        }, 1L, Long::sum);
        return result;
    }

    synchronized StoreResult enter(StoreResult result) {
        counts.merge(switch (result) {
            case StoreResult.Stored _ -> Line.STORED;
            case StoreResult.Duplicate _ -> Line.DUPLICATE;
            case StoreResult.Divergent _ -> Line.DIVERGENT;
            case StoreResult.Refused _ -> Line.REFUSED;
            case StoreResult.Failed _ -> Line.FAILED;
            case StoreResult.Unknown _ -> Line.UNKNOWN;
        }, 1L, Long::sum);
        return result;
    }

    /** O1: the tier has counted each call once, and as what it was. */
    synchronized void compare(TierStatistics.Snapshot theirs) {
        long damaged = theirs.damaged().values().stream().mapToLong(Long::longValue).sum();
        assertEquals(List.of(of(Line.HIT), of(Line.ABSENT), of(Line.DAMAGED), of(Line.UNAVAILABLE)),
                List.of(theirs.hits(), theirs.absent(), damaged, theirs.unavailable()));
        assertEquals(
                List.of(of(Line.STORED), of(Line.DUPLICATE), of(Line.DIVERGENT), of(Line.REFUSED), of(Line.FAILED), of(Line.UNKNOWN)),
                List.of(theirs.stored(), theirs.duplicates(), theirs.divergent(), theirs.refused(), theirs.failed(), theirs.unknown()));
    }

    private long of(Line line) {
        return counts.getOrDefault(line, 0L);
    }

    /** O1: the requests that the tiers counted are those that came. */
    static void compareRequests(Collection<BucketTier> tiers, List<String> operations) {
        BucketStatistics.Requests came = new BucketStatistics.Requests(came(operations, "GET"), came(operations, "HEAD"),
                came(operations, "PUT"), came(operations, "DELETE"), came(operations, "LIST"));
        BucketStatistics.Requests sent = tiers.stream().map(tier -> tier.statistics().requests())
                .reduce(new BucketStatistics.Requests(0, 0, 0, 0, 0), (a, b) -> new BucketStatistics.Requests(a.get() + b.get(),
                        a.head() + b.head(), a.put() + b.put(), a.delete() + b.delete(), a.list() + b.list()));
        assertEquals(came, sent);
    }

    private static long came(List<String> operations, String method) {
        return operations.stream().filter(operation -> operation.startsWith(method)).count();
    }
}
