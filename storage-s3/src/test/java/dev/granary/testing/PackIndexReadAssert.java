package dev.granary.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.s3.pack.format.PackIndex;

/** An assertion about the result of decoding the index of a pack. */
public final class PackIndexReadAssert extends ResultAssert<PackIndexReadAssert, PackIndex.Read> {
    PackIndexReadAssert(PackIndex.Read actual) {
        super(actual);
    }

    /** Asserts that the index was decoded, and returns it. */
    public PackIndex isOk() {
        return is(PackIndex.Read.Ok.class).index();
    }

    /** Asserts that the bytes are no index, and returns the damage with its detail. */
    public PackIndex.Read.Bad isBad() {
        return is(PackIndex.Read.Bad.class);
    }

    /** Asserts damage of that kind. */
    public void isBad(DamageKind expected) {
        assertEquals(expected, isBad().damage(), this::message);
    }
}
