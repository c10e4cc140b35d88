package dev.granary.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.DamageKind;
import dev.granary.s3.pack.manifest.PackManifest;

/** An assertion about the result of decoding a manifest of packs. */
public final class PackManifestReadAssert
        extends ResultAssert<PackManifestReadAssert, PackManifest.Read> {
    PackManifestReadAssert(PackManifest.Read actual) {
        super(actual);
    }

    /** Asserts that the manifest was decoded, and returns it. */
    public PackManifest isOk() {
        return is(PackManifest.Read.Ok.class).manifest();
    }

    /** Asserts that the bytes are no manifest, and returns the damage with its detail. */
    public PackManifest.Read.Bad isBad() {
        return is(PackManifest.Read.Bad.class);
    }

    /** Asserts damage of that kind. */
    public void isBad(DamageKind expected) {
        assertEquals(expected, isBad().damage(), this::message);
    }
}
