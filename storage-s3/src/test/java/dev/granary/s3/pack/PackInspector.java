package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackLocation;

import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;

/**
 * Decoder of stored packs for tests of other packages, which also gives {@link PackReader} a test's
 * clock and threads.
 */
public final class PackInspector {
    private static final int INDEX_OFFSET_AT = 16;

    private PackInspector() {}

    /**
     * Gives {@code packs} a wall clock and an executor of the test. To be called before the first
     * lookup.
     *
     * @param executor runs the comparison of heads
     */
    public static void control(PackReader packs, LongSupplier wallMillis, Executor executor) {
        RefreshSchedule own = (RefreshSchedule) get(packs, "schedule");
        set(
                packs,
                "schedule",
                new RefreshSchedule(
                        own.interval(), own.timeout(), own.nanos(), wallMillis, own.random()));
        set(packs, "executor", executor);
    }

    private static Object get(Object of, String name) {
        try {
            return field(of, name).get(of);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void set(Object of, String name, Object value) {
        try {
            field(of, name).set(of, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field field(Object of, String name) {
        try {
            Field field = of.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(of.getClass() + " was changed: adapt this class", e);
        }
    }

    /** Returns the hashes of the ids of a pack's entries; empty if its index cannot be decoded. */
    public static List<Sha256> ids(byte[] pack, String namespace) {
        if (pack.length < PackIndex.HEADER_BYTES + PackIndex.FOOTER_BYTES) {
            return List.of();
        }
        long offset = ByteBuffer.wrap(pack)
                .getLong(pack.length - PackIndex.FOOTER_BYTES + INDEX_OFFSET_AT);
        if (offset < PackIndex.HEADER_BYTES || offset > pack.length - PackIndex.FOOTER_BYTES) {
            return List.of();
        }
        return PackIndex.decode(
                                Arrays.copyOfRange(pack, (int) offset, pack.length),
                                offset,
                                namespace)
                        instanceof PackIndex.Read.Ok ok
                ? ok.index().locations().stream().map(PackLocation::id).toList()
                : List.of();
    }
}
