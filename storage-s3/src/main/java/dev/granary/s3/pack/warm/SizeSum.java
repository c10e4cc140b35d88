package dev.granary.s3.pack.warm;

import java.util.stream.LongStream;

/** Sum of sizes that servers report, without overflow. */
public final class SizeSum {
    private SizeSum() {}

    /** Returns the sum, at most {@link Long#MAX_VALUE}. A negative size counts as 0. */
    public static long sum(LongStream sizes) {
        return sizes.reduce(
                0,
                (sum, size) -> Math.max(0, size) > Long.MAX_VALUE - sum
                        ? Long.MAX_VALUE
                        : sum + Math.max(0, size));
    }
}
