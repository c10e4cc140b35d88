package dev.granary.benchmarks.bucket.workload;

import java.util.SplittableRandom;

/** The content of the binaries of the workload. */
public enum PayloadKind {
    /** Random bytes, which are not compressible: all installed bytes are transferred. */
    RANDOM {
        @Override
        void fill(byte[] binary, SplittableRandom random) {
            random.nextBytes(binary);
        }
    },
    /**
     * Repeated and new runs of bytes: zstd compresses them about 2.5 times, like compiled kernels.
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

    /** Fills a binary; equal random numbers give equal bytes. */
    abstract void fill(byte[] binary, SplittableRandom random);
}
