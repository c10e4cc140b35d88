package dev.granary.s3.pack;

import java.util.stream.LongStream;

/** Adds up sizes that servers tell. */
public final class SizeSum {
    private SizeSum() {}

    /** The sum; {@link Long#MAX_VALUE} where it is more. A size below zero counts as none. */
    public static long sum(LongStream sizes) {
        return sizes.reduce(0, (sum, size) -> Math.max(0, size) > Long.MAX_VALUE - sum ? Long.MAX_VALUE : sum + Math.max(0, size));
    }
}
