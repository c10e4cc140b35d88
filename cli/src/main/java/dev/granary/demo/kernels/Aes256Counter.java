package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.random.RandomGenerator;

import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Encryption with AES-256 in counter mode (FIPS 197, NIST SP 800-38A); the reference is the JDK's.
 */
final class Aes256Counter {
    private static final int LENGTH = 8_197;
    private static final int KEY_BYTES = 32;
    private static final int BLOCK_BYTES = 16;
    private static final int SCHEDULE_BYTES = 15 * BLOCK_BYTES;

    private Aes256Counter() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("aes-256-ctr", "aes256_ctr.cl")
                .launching("expand_key", Geometry.of(1).local(1))
                .launching("encrypt_counter", Geometry.of(576).local(64))
                .checkedBy(Aes256Counter::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        byte[] key = SyntheticData.bytes(random, KEY_BYTES);
        byte[] counter = SyntheticData.bytes(random, BLOCK_BYTES);
        Arrays.fill(counter, 6, BLOCK_BYTES, (byte) 0xFF); // carries propagate far
        byte[] text = SyntheticData.bytes(random, LENGTH);
        DeviceBuffer schedule = harness.bytes(SCHEDULE_BYTES);
        DeviceBuffer result = harness.bytes(LENGTH);
        harness.launch("expand_key", harness.input(key), schedule);
        harness.launch(
                "encrypt_counter",
                schedule,
                harness.input(counter),
                harness.input(text),
                result,
                LENGTH);
        return new ResultComparison()
                .bytes("text", reference(key, counter, text), KernelHarness.bytesOf(result))
                .result();
    }

    private static byte[] reference(byte[] key, byte[] counter, byte[] text) {
        try {
            Cipher cipher = Cipher.getInstance("AES/CTR/NoPadding");
            cipher.init(
                    Cipher.ENCRYPT_MODE,
                    new SecretKeySpec(key, "AES"),
                    new IvParameterSpec(counter));
            return cipher.doFinal(text);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(
                    "The JDK lacks AES in counter mode, the reference of the demo", e);
        }
    }
}
