package dev.granary.cache.contract;

import dev.granary.cache.format.EntrySignature;
import dev.granary.cache.format.EntrySigner;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.format.TrustPolicy.Mode;

import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;

/** Pairs of keys that depend on a number only. */
public final class TestKeys {
    private TestKeys() {}

    private static KeyPair pair(int number) {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance(EntrySignature.ALGORITHM);
            generator.initialize(255, new SecureRandom() {
                private static final long serialVersionUID = 1L;

                @Override
                public void nextBytes(byte[] bytes) {
                    Arrays.fill(bytes, (byte) number);
                }
            });
            return generator.generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the public key of a number. */
    public static PublicKey publicKey(int number) {
        return pair(number).getPublic();
    }

    /** Returns a signer with the private key of a number. */
    public static EntrySigner signer(String name, int number) {
        return new EntrySigner(name, pair(number).getPrivate());
    }

    /** Returns a policy that trusts the key of a number, and knows that {@code old} was revoked. */
    public static TrustPolicy policy(Mode mode, String name, int number) {
        return new TrustPolicy(
                mode,
                "a test",
                Map.of(name, Optional.of(publicKey(number)), "old", Optional.empty()));
    }
}
