package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.security.GeneralSecurityException;
import java.util.random.RandomGenerator;

import javax.crypto.Cipher;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** Encryption with the stream cipher ChaCha20 (RFC 8439); the reference is the JDK's. */
final class ChaCha20 {
    private static final int LENGTH = 12_345;
    private static final int KEY_BYTES = 32;
    private static final int NONCE_BYTES = 12;

    private ChaCha20() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("chacha20", "chacha20.cl")
                .including("bits.clh")
                .with("-D DOUBLE_ROUNDS=10")
                .launching("chacha20", Geometry.of(256).local(32))
                .checkedBy(ChaCha20::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        byte[] key = SyntheticData.bytes(random, KEY_BYTES);
        byte[] nonce = SyntheticData.bytes(random, NONCE_BYTES);
        int counter = random.nextInt(1, 1_000_000);
        byte[] text = SyntheticData.bytes(random, LENGTH);
        DeviceBuffer result = harness.bytes(LENGTH);
        harness.launch(
                "chacha20",
                harness.input(key),
                harness.input(nonce),
                counter,
                harness.input(text),
                result,
                LENGTH);
        return new ResultComparison()
                .bytes("text", reference(key, nonce, counter, text), KernelHarness.bytesOf(result))
                .result();
    }

    private static byte[] reference(byte[] key, byte[] nonce, int counter, byte[] text) {
        try {
            Cipher cipher = Cipher.getInstance("ChaCha20");
            cipher.init(
                    Cipher.ENCRYPT_MODE,
                    new SecretKeySpec(key, "ChaCha20"),
                    new ChaCha20ParameterSpec(nonce, counter));
            return cipher.doFinal(text);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("The JDK lacks ChaCha20, the reference of the demo", e);
        }
    }
}
