package dev.granary.s3.pack.manifest;

import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.StoreFailure;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Reader of a manifest by its number. The manifest may be damaged in a response or in the bucket.
 * Thread-safe.
 */
final class ManifestReader {
    private static final int MAX_STEPS_BACK = 8;
    private static final int READS = 3;
    private static final int READER_READS = 2;
    private static final Duration PAUSE = Duration.ofMillis(50);

    private final TargetLayout keys;
    private final ManifestObjects objects;
    private final Consumer<Duration> pause;

    ManifestReader(TargetLayout keys, ManifestObjects objects, Consumer<Duration> pause) {
        this.keys = keys;
        this.objects = objects;
        this.pause = pause;
    }

    /**
     * A manifest on which a writer may build.
     *
     * @param manifest the manifest
     * @param isWhole false if the newest one is damaged in the bucket, and this is the last sound
     *     one before it
     */
    record Confirmed(PackManifest manifest, boolean isWhole) {}

    /**
     * Returns the manifest of that number for readers; if it is damaged, the last sound one before
     * it, under that number.
     */
    PackManifest read(long number, PackManifest known) throws UnknownStateException {
        for (long at = number; at > 0 && at > number - MAX_STEPS_BACK; at--) {
            if (at == known.number()) {
                return renumbered(known, number);
            }
            for (int read = 0; read < (at == number ? READER_READS : 1); read++) {
                if (objects.content(at)
                        instanceof ManifestObjects.Content.Sound(PackManifest manifest)) {
                    return renumbered(manifest, number);
                }
            }
        }
        return renumbered(known, number);
    }

    /**
     * Returns the manifest of that number for writers; empty if it is gone. If it is damaged in the
     * bucket, and not only in a response, the last sound one before it counts, as for readers. If
     * there is none, the empty manifest counts.
     */
    Optional<Confirmed> readConfirmed(long number) throws UnknownStateException {
        for (long at = number; at > number - MAX_STEPS_BACK; at--) {
            if (at == 0) {
                return Optional.of(new Confirmed(renumbered(PackManifest.NONE, number), false));
            }
            // the chain began later, or a rule removed what was before: readers find nothing either
            if (at == number - MAX_STEPS_BACK + 1 && objects.isGone(at)) {
                return Optional.of(new Confirmed(renumbered(PackManifest.NONE, number), false));
            }
            Optional<PackManifest> sound = readSound(at);
            if (sound.isPresent()) {
                return Optional.of(new Confirmed(renumbered(sound.get(), number), at == number));
            }
            if (at == number && objects.isGone(at)) {
                return Optional.empty();
            }
        }
        throw new UnknownStateException(StoreFailure.of(
                StoreFailure.Kind.BROKEN,
                "the last " + MAX_STEPS_BACK + " manifests up to " + keys.manifest(number)
                        + " are damaged or gone: remove them to begin anew"));
    }

    /** Returns the manifest; empty if several agreeing responses show it to be damaged or gone. */
    private Optional<PackManifest> readSound(long number) throws UnknownStateException {
        @Nullable MemorySegment before = null;
        int agreeing = 0;
        String detail = "the response is 404";
        for (int read = 0; read < READS; read++) {
            if (read > 0) {
                pause.accept(PAUSE.multipliedBy(read));
            }
            switch (objects.content(number)) {
                case ManifestObjects.Content.Sound(PackManifest manifest) -> {
                    return Optional.of(manifest);
                }
                case ManifestObjects.Content.Absent _ -> {
                    agreeing += before == null ? 1 : 0;
                }
                case ManifestObjects.Content.Bad bad -> {
                    agreeing += read == 0 || (before != null && before.mismatch(bad.bytes()) == -1)
                            ? 1
                            : 0;
                    before = bad.bytes();
                    detail = bad.detail();
                }
            }
        }
        if (agreeing == READS
                && (before == null ? objects.isGone(number) : objects.isStored(number, before))) {
            return Optional.empty();
        }
        throw new UnknownStateException(StoreFailure.of(
                StoreFailure.Kind.BROKEN,
                keys.manifest(number) + " exists, but is not returned as it was written: "
                        + detail));
    }

    /**
     * Returns the manifest under another number. The damaged one that it replaces may have allowed
     * unpacked entries.
     */
    private static PackManifest renumbered(PackManifest manifest, long number) {
        return manifest.number() == number
                ? manifest
                : new PackManifest(
                        number,
                        PackManifest.UnpackedEntries.POSSIBLE,
                        manifest.packs(),
                        manifest.retired());
    }
}
