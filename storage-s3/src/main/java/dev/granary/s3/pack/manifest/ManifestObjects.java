package dev.granary.s3.pack.manifest;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Optional;

/**
 * The manifest objects of one target, each requested by its number. Changes nothing in the bucket.
 * Thread-safe.
 */
final class ManifestObjects {
    private static final int CHECKSUM_BYTES = Integer.BYTES;
    private static final int NOT_SATISFIABLE = 416;

    private final ObjectStore store;
    private final TargetLayout keys;

    ManifestObjects(ObjectStore store, TargetLayout keys) {
        this.store = store;
        this.keys = keys;
    }

    /** Returns true if the manifest of that number exists. */
    boolean exists(long number) throws UnknownStateException {
        String key = keys.manifest(number);
        return switch (store.head(key)) {
            case HeadResult.Found found ->
                !found.marks().putId().isEmpty() || beginsLikeManifest(key, number);
            case HeadResult.Absent _ -> false;
            case HeadResult.Unavailable unavailable
            when AbsenceVerifier.isAbsent(unavailable.failure(), key, store, keys) -> false;
            case HeadResult.Unavailable unavailable ->
                throw new UnknownStateException(unavailable.failure());
        };
    }

    /**
     * Returns true if an object without metadata is a manifest. A proxy may strip metadata, or
     * return a page with status 200.
     */
    private boolean beginsLikeManifest(String key, long number) throws UnknownStateException {
        return readRange(key, 0, PackManifest.HEAD_BYTES)
                .filter(first -> PackManifest.isHeadOf(first, number))
                .isPresent();
    }

    private Optional<byte[]> readRange(String key, long offset, int length)
            throws UnknownStateException {
        return switch (store.range(key, offset, length)) {
            case GetResult.Found found -> Optional.of(found.bytes().toArray(ValueLayout.JAVA_BYTE));
            case GetResult.Absent _, GetResult.TooLarge _ -> Optional.empty();
            case GetResult.Unavailable unavailable
            when unavailable.failure().status() == NOT_SATISFIABLE -> Optional.empty();
            case GetResult.Unavailable unavailable ->
                throw new UnknownStateException(unavailable.failure());
        };
    }

    /**
     * Returns false if a manifest no longer exists: the bucket was emptied and numbering restarted,
     * or old manifests were removed.
     */
    boolean isUnchanged(PackManifest known) throws UnknownStateException {
        String key = keys.manifest(known.number());
        return switch (store.head(key)) {
            case HeadResult.Found found
            when found.marks().sha256().isEmpty() -> hasSameChecksum(known, key, found.bytes());
            case HeadResult.Found found -> {
                byte[] expected = known.encode();
                yield found.bytes() == expected.length
                        && found.marks().sha256().equals(Sha256.of(expected).hex());
            }
            case HeadResult.Absent _ -> false;
            case HeadResult.Unavailable unavailable
            when AbsenceVerifier.isAbsent(unavailable.failure(), key, store, keys) -> false;
            case HeadResult.Unavailable unavailable ->
                throw new UnknownStateException(unavailable.failure());
        };
    }

    /** Compares the trailing checksum, for servers that store no metadata. */
    private boolean hasSameChecksum(PackManifest known, String key, long bytes)
            throws UnknownStateException {
        byte[] expected = known.encode();
        int from = expected.length - CHECKSUM_BYTES;
        return bytes == expected.length
                && readRange(key, from, CHECKSUM_BYTES)
                        .filter(end ->
                                Arrays.equals(end, 0, end.length, expected, from, expected.length))
                        .isPresent();
    }

    /** The outcome of one read of a manifest. */
    sealed interface Content {
        /** A manifest that passed all checks. */
        record Sound(PackManifest manifest) implements Content {}

        /** There is no object of that number. */
        record Absent() implements Content {}

        /**
         * Something else; the bytes are empty if there are more than
         * {@link PackManifest#MAX_BYTES}.
         */
        record Bad(MemorySegment bytes, String detail) implements Content {}
    }

    /**
     * Reads a manifest. One of a newer version is not treated as damaged: a commit without its
     * content would lose that content.
     */
    Content content(long number) throws UnknownStateException {
        String key = keys.manifest(number);
        return switch (store.get(key, PackManifest.MAX_BYTES)) {
            case GetResult.Found found -> {
                MemorySegment bytes = found.bytes();
                yield switch (PackManifest.decode(bytes.toArray(ValueLayout.JAVA_BYTE))) {
                    case PackManifest.Read.Ok(PackManifest manifest)
                    when manifest.number() == number -> new Content.Sound(manifest);
                    case PackManifest.Read.Ok(PackManifest manifest) ->
                        new Content.Bad(bytes, "it is manifest " + manifest.number());
                    case PackManifest.Read.Bad bad
                    when bad.damage() == DamageKind.TOO_NEW ->
                        throw new UnknownStateException(StoreFailure.of(
                                StoreFailure.Kind.NOT_SUPPORTED,
                                key + " was written by a newer version of Granary: "
                                        + bad.detail()));
                    case PackManifest.Read.Bad bad -> new Content.Bad(bytes, bad.detail());
                };
            }
            case GetResult.TooLarge _ ->
                new Content.Bad(
                        MemorySegment.NULL,
                        "it has more than " + PackManifest.MAX_BYTES + " bytes");
            case GetResult.Absent _ -> new Content.Absent();
            case GetResult.Unavailable unavailable
            when AbsenceVerifier.isAbsent(unavailable.failure(), key, store, keys) ->
                new Content.Absent();
            case GetResult.Unavailable unavailable ->
                throw new UnknownStateException(unavailable.failure());
        };
    }

    boolean isGone(long number) throws UnknownStateException {
        String key = keys.manifest(number);
        return switch (store.head(key)) {
            case HeadResult.Found _ -> false;
            case HeadResult.Absent _ -> true;
            case HeadResult.Unavailable unavailable
            when AbsenceVerifier.isAbsent(unavailable.failure(), key, store, keys) -> true;
            case HeadResult.Unavailable unavailable ->
                throw new UnknownStateException(unavailable.failure());
        };
    }

    /**
     * Returns true if the object has as many bytes as the response: a truncated response is no
     * damage in the bucket.
     */
    boolean isStored(long number, MemorySegment answered) throws UnknownStateException {
        return switch (store.head(keys.manifest(number))) {
            case HeadResult.Found found ->
                answered.byteSize() == 0
                        ? found.bytes() > PackManifest.MAX_BYTES
                        : found.bytes() == answered.byteSize();
            case HeadResult.Absent _ -> false;
            case HeadResult.Unavailable unavailable ->
                throw new UnknownStateException(unavailable.failure());
        };
    }
}
