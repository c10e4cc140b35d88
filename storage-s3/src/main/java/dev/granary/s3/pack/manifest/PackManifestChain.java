package dev.granary.s3.pack.manifest;

import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Reads the manifests of one target, and finds the newest. Changes nothing in the bucket.
 * Thread-safe.
 *
 * <p>Readers take the last sound manifest: a stale one costs them misses. Writers and removers take
 * {@linkplain #confirmed confirmed} ones only: a pack that is missing in the manifest that they
 * build on is lost to all readers.
 */
final class PackManifestChain {
    private static final int SEARCHES = 3;
    private static final int HINT_READS = 2;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final ManifestObjects objects;
    private final ManifestNumbers numbers;
    private final ManifestReader reader;

    PackManifestChain(ObjectStore store, TargetLayout keys, Consumer<Duration> pause) {
        this.store = store;
        this.keys = keys;
        this.objects = new ManifestObjects(store, keys);
        this.numbers = new ManifestNumbers(store, keys, objects);
        this.reader = new ManifestReader(keys, objects, pause);
    }

    /**
     * Returns the hint, or empty if there is none, and thus no commit was ever begun. A malformed
     * hint is requested again.
     */
    Optional<ManifestHint> hint() throws UnknownStateException {
        return hint(hintAnswer());
    }

    private GetResult hintAnswer() {
        GetResult answer = store.get(keys.hint(), AbsenceVerifier.HINT_BYTES);
        for (int read = 1; read < HINT_READS && ManifestHint.isMalformed(answer); read++) {
            answer = store.get(keys.hint(), AbsenceVerifier.HINT_BYTES);
        }
        return answer;
    }

    private static Optional<ManifestHint> hint(GetResult answer) throws UnknownStateException {
        return switch (answer) {
            case GetResult.Found found -> Optional.of(ManifestHint.of(found));
            case GetResult.TooLarge _ -> Optional.of(ManifestHint.UNKNOWN);
            case GetResult.Absent _ -> Optional.empty();
            case GetResult.Unavailable unavailable ->
                throw new UnknownStateException(unavailable.failure());
        };
    }

    /** Returns the newest manifest for a reader that has read {@code known}. */
    PackManifest newest(PackManifest known) throws UnknownStateException {
        long number = known.number() == 0 ? 0 : numbers.lastFrom(known.number());
        boolean isUnchanged = number > known.number() || (number > 0 && objects.isUnchanged(known));
        Optional<ManifestHint> hint = hint();
        // a later hint skips a gap, or leads to a chain that began in an emptied bucket
        if (isUnchanged && hint.map(ManifestHint::number).orElse(0L) <= number) {
            return number == known.number() ? known : reader.read(number, known);
        }
        return hint.isEmpty()
                ? PackManifest.NONE
                : reader.read(numbers.newest(hint.get()), PackManifest.NONE);
    }

    /**
     * Returns true if a new reader reaches {@code known}, as far as the hint and the next number
     * show.
     */
    boolean isNewest(PackManifest known) throws UnknownStateException {
        GetResult answer = hintAnswer();
        if (ManifestHint.isMalformed(answer)) {
            throw new UnknownStateException(StoreFailure.of(
                    StoreFailure.Kind.BROKEN,
                    keys.hint() + " is malformed: is this an S3 server?"));
        }
        Optional<ManifestHint> hint = hint(answer);
        if (hint.isEmpty()) {
            return known.number() == 0;
        }
        return hint.get().number() <= known.number()
                && !objects.exists(known.number() == 0 ? hint.get().first() : known.number() + 1);
    }

    /**
     * Returns true if a new process that starts at the hint reaches the manifest of that number, or
     * a later one built on it.
     *
     * @param number the number of an existing manifest
     */
    boolean leadsTo(long number, ManifestHint hint) throws UnknownStateException {
        long from = hint.searchStart();
        return from >= number
                ? from == number || numbers.isContiguous(number, from)
                : number == from + 1 || numbers.isContiguous(from, number);
    }

    /**
     * Returns true if a manifest that was just created is not the newest, and the next one was not
     * built on it. An earlier manifest of the same number was then removed. A damaged one hides
     * nothing, since it is skipped.
     */
    boolean isHidden(PackManifest created) throws UnknownStateException {
        return objects.exists(created.number() + 1)
                && objects.content(created.number() + 1)
                        instanceof ManifestObjects.Content.Sound(PackManifest next)
                && !created.packs().stream().allMatch(pack -> next.namesOrRetires(pack.name()));
    }

    /** Returns true if the manifest of that number exists. */
    boolean exists(long number) throws UnknownStateException {
        return objects.exists(number);
    }

    /** Returns the number of the newest manifest; 0 if there is none. */
    long newestNumber(ManifestHint hint) throws UnknownStateException {
        return numbers.newest(hint);
    }

    /**
     * Returns true if all numbers after {@code low} up to {@code high} exist: the later manifests
     * were built on the earlier ones.
     */
    boolean isContiguous(long low, long high) throws UnknownStateException {
        return numbers.isContiguous(low, high);
    }

    /** Returns true if the manifest that the hint names exists, or the one after it. */
    boolean leadsAnywhere(ManifestHint hint) throws UnknownStateException {
        return hint.number() > 0
                && (objects.exists(hint.number()) || objects.exists(hint.number() + 1));
    }

    /**
     * Returns true if {@code later} has every pack of the manifest that lookups find from a hint
     * whose own manifest is gone. A lifecycle rule has then removed some manifests in between, and
     * advancing the hint to the later one loses no pack.
     */
    boolean isBuiltOn(PackManifest later, ManifestHint hint) throws UnknownStateException {
        long there = numbers.lastFrom(hint.number());
        return there < later.number()
                && objects.content(there)
                        instanceof ManifestObjects.Content.Sound(PackManifest earlier)
                && earlier.packs().stream().allMatch(pack -> later.namesOrRetires(pack.name()));
    }

    /**
     * Returns the newest manifest for a writer that knows {@code known}; a wrong response fails the
     * call and never yields an older manifest.
     *
     * @param hint where the search starts
     */
    ManifestReader.Confirmed confirmed(PackManifest known, ManifestHint hint)
            throws UnknownStateException {
        PackManifest start = known;
        for (int search = 0; search < SEARCHES; search++) {
            long number =
                    start.number() == 0 ? numbers.newest(hint) : numbers.lastFrom(start.number());
            if (number == 0) {
                return new ManifestReader.Confirmed(PackManifest.NONE, true);
            }
            if (number == start.number()) {
                if (objects.isUnchanged(start)) {
                    return new ManifestReader.Confirmed(start, true);
                }
            } else {
                Optional<ManifestReader.Confirmed> read = reader.readConfirmed(number);
                if (read.isPresent()) {
                    return read.get();
                }
            }
            start = PackManifest.NONE; // it was removed meanwhile
        }
        throw new UnknownStateException(StoreFailure.of(
                StoreFailure.Kind.SERVER,
                "the newest manifest is present in one response and absent in the next"));
    }
}
