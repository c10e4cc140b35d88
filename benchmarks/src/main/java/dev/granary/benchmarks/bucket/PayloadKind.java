package dev.granary.benchmarks.bucket;

import java.util.SplittableRandom;

/** What the binaries of the workload hold. */
enum PayloadKind {
    /** Random bytes, which nothing compresses: as many bytes move as are installed. */
    RANDOM {
        @Override
        void fill(byte[] binary, SplittableRandom random) {
            random.nextBytes(binary);
        }
    },
    /**
     * Runs of bytes that were there before, and new ones: zstd packs them about 2.5 times, as it
     * does compiled kernels.
     */
    KERNELS {
        @Override
        void fill(byte[] binary, SplittableRandom random) {
            byte[] fresh = new byte[RUN_BYTES];
            for (int at = 0; at < binary.length; at += RUN_BYTES) {
                int length = Math.min(RUN_BYTES, binary.length - at);
                if (at >= RUN_BYTES && random.nextDouble() < REPEATED) {
                    int back = random.nextInt(RUN_BYTES, Math.min(at, FARTHEST) + 1);
                    System.arraycopy(binary, at - back, binary, at, length);
                } else {
                    random.nextBytes(fresh);
                    System.arraycopy(fresh, 0, binary, at, length);
                }
            }
        }
    };

    private static final int RUN_BYTES = 32;
    private static final int FARTHEST = 8 << 10;
    private static final double REPEATED = 0.67;

    /** Fills a binary; the same random numbers give the same bytes. */
    abstract void fill(byte[] binary, SplittableRandom random);
}
