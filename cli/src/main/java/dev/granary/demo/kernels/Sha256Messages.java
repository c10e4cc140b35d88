package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.random.RandomGenerator;

/** SHA-256 (FIPS 180-4) of many independent messages; the reference is the JDK's. */
final class Sha256Messages {
    private static final int COUNT = 203;
    private static final int DIGEST_BYTES = 32;

    private Sha256Messages() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("sha-256", "sha256.cl")
                .including("sha256.clh", "bits.clh")
                .launching("sha256", Geometry.of(256).local(32))
                .checkedBy(Sha256Messages::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        // Every length from zero on: all positions of the padding in the last blocks.
        int[] starts = new int[COUNT + 1];
        for (int i = 0; i < COUNT; i++) {
            starts[i + 1] = starts[i] + i;
        }
        byte[] messages = SyntheticData.bytes(random, starts[COUNT]);
        DeviceBuffer digests = harness.bytes(COUNT * DIGEST_BYTES);
        harness.launch("sha256", harness.input(messages), harness.input(starts), COUNT, digests);

        MessageDigest sha256 = sha256();
        byte[] expected = new byte[COUNT * DIGEST_BYTES];
        for (int i = 0; i < COUNT; i++) {
            byte[] digest = sha256.digest(Arrays.copyOfRange(messages, starts[i], starts[i + 1]));
            System.arraycopy(digest, 0, expected, i * DIGEST_BYTES, DIGEST_BYTES);
        }
        return new ResultComparison()
                .bytes("digests", expected, KernelHarness.bytesOf(digests))
                .result();
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java platform has SHA-256", e);
        }
    }
}
