package dev.granary.s3.pack;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.DeadlineBound;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Locale;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeSet;
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
    private static final int MAX_STEPS_BACK = 8;
    private static final int READS = 3;
    private static final int READER_READS = 2;
    private static final int SEARCHES = 3;
    private static final int MAX_CANDIDATES = 8;
    private static final int CHECKSUM_BYTES = Integer.BYTES;
    private static final int NOT_SATISFIABLE = 416;

    /** The largest number of a manifest: milliseconds since {@link #EPOCH} for 278 years. */
    private static final long MAX_NUMBER = 1L << 43;

    private static final long SMALL_NUMBER = 1L << 20;
    private static final int LARGE_DIGITS = 16;
    private static final String LARGE_NUMBER = "%0" + LARGE_DIGITS + "d";

    /**
     * The time from which the first number of a chain is counted, in milliseconds of the server's
     * clock. A chain that began earlier, or at an unknown time, begins at 1.
     */
    private static final Instant EPOCH = Instant.parse("2026-01-01T00:00:00Z");

    private static final Duration PAUSE = Duration.ofMillis(50);

    private final ObjectStore store;
    private final TargetLayout keys;
    private final Consumer<Duration> pause;

    PackManifestChain(ObjectStore store, TargetLayout keys, Consumer<Duration> pause) {
        this.store = store;
        this.keys = keys;
        this.pause = pause;
    }

    /**
     * The hint.
     *
     * @param number the manifest that it names; 0 if it is malformed, or nothing is committed yet
     * @param etag its version
     * @param writtenMillis when it was written, by the server's clock, in milliseconds since 1970;
     *     0 if the server did not report it
     */
    record Hint(long number, String etag, long writtenMillis) {
        /**
         * Returns the number of the first manifest of a chain. All writers that read this version
         * of the hint compute the same one, so that one of them creates it. It is larger than all
         * numbers that were removed before the hint was written. Numbers are thus never reused, and
         * a process that knows a manifest of an earlier chain builds nothing on it.
         */
        long first() {
            return Math.max(Math.max(1, writtenMillis - EPOCH.toEpochMilli()), number + 1);
        }

        /** Returns the number to search from: all later manifests follow without a gap. */
        long searchStart() {
            return number > 0 ? number : first() - 1;
        }
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
     * Returns the hint, or empty if there is none, and thus no commit was ever begun. A malformed
     * hint is requested again.
     */
    Optional<Hint> hint() throws UnknownStateException {
        return hint(hintAnswer());
    }

    private GetResult hintAnswer() {
        GetResult answer = store.get(keys.hint(), AbsenceVerifier.HINT_BYTES);
        for (int read = 1; read < READER_READS && isMalformed(answer); read++) {
            answer = store.get(keys.hint(), AbsenceVerifier.HINT_BYTES);
        }
        return answer;
    }

    private static Optional<Hint> hint(GetResult answer) throws UnknownStateException {
        return switch (answer) {
            case GetResult.Found found ->
                Optional.of(new Hint(
                        parsed(found).orElse(0), found.etag(), found.dates().lastModifiedMillis()));
            case GetResult.TooLarge _ -> Optional.of(new Hint(0, "", 0));
            case GetResult.Absent _ -> Optional.empty();
            case GetResult.Unavailable unavailable ->
                throw new UnknownStateException(unavailable.failure());
        };
    }

    private static boolean isMalformed(GetResult hint) {
        return switch (hint) {
            case GetResult.Found found -> parsed(found).isEmpty();
            case GetResult.TooLarge _ -> true;
            case GetResult.Absent _, GetResult.Unavailable _ -> false;
        };
    }

    /**
     * Returns the bytes of a hint. Large numbers are padded with zeros, so that a truncated one is
     * never taken for another.
     */
    static byte[] hintText(long number) {
        return (number < SMALL_NUMBER
                        ? Long.toString(number)
                        : String.format(Locale.ROOT, LARGE_NUMBER, number))
                .getBytes(US_ASCII);
    }

    private static OptionalLong parsed(GetResult.Found hint) {
        String text = new String(hint.bytes().toArray(ValueLayout.JAVA_BYTE), US_ASCII).strip();
        try {
            long number = Long.parseLong(text);
            boolean isWhole = text.length() == LARGE_DIGITS
                    || text.equals("0")
                    || (number < SMALL_NUMBER && !text.startsWith("0"));
            return isWhole && number >= 0 && number <= MAX_NUMBER
                    ? OptionalLong.of(number)
                    : OptionalLong.empty();
        } catch (NumberFormatException e) {
            return OptionalLong.empty();
        }
    }

    /** Returns the newest manifest for a reader that has read {@code known}. */
    PackManifest newest(PackManifest known) throws UnknownStateException {
        long number = known.number() == 0 ? 0 : lastFrom(known.number());
        boolean isUnchanged = number > known.number() || (number > 0 && isUnchanged(known));
        Optional<Hint> hint = hint();
        // a later hint skips a gap, or leads to a chain that began in an emptied bucket
        if (isUnchanged && hint.map(Hint::number).orElse(0L) <= number) {
            return number == known.number() ? known : read(number, known);
        }
        return hint.isEmpty()
                ? PackManifest.NONE
                : read(newestNumber(hint.get()), PackManifest.NONE);
    }

    /**
     * Returns true if a new reader comes to {@code known}, as far as the hint and the next number
     * show.
     */
    boolean isNewest(PackManifest known) throws UnknownStateException {
        GetResult answer = hintAnswer();
        if (isMalformed(answer)) {
            throw new UnknownStateException(StoreFailure.of(
                    StoreFailure.Kind.BROKEN,
                    keys.hint() + " is malformed: is this an S3 server?"));
        }
        Optional<Hint> hint = hint(answer);
        if (hint.isEmpty()) {
            return known.number() == 0;
        }
        return hint.get().number() <= known.number()
                && !exists(known.number() == 0 ? hint.get().first() : known.number() + 1);
    }

    /**
     * Returns true if a new process that starts at the hint reaches the manifest of that number, or
     * a later one built on it.
     *
     * @param number the number of an existing manifest
     */
    boolean leadsTo(long number, Hint hint) throws UnknownStateException {
        long from = hint.searchStart();
        return from >= number
                ? from == number || isContiguous(number, from)
                : number == from + 1 || isContiguous(from, number);
    }

    /**
     * Returns true if a manifest that was just created is not the newest, and the next one was not
     * built on it. An earlier manifest of the same number was then removed. A damaged one hides
     * nothing, since it is skipped.
     */
    boolean isHidden(PackManifest created) throws UnknownStateException {
        return exists(created.number() + 1)
                && content(created.number() + 1) instanceof Content.Sound(PackManifest next)
                && !created.packs().stream().allMatch(pack -> next.namesOrRetires(pack.name()));
    }

    /** Returns true if the manifest that the hint names exists, or the one after it. */
    boolean leadsAnywhere(Hint hint) throws UnknownStateException {
        return hint.number() > 0 && (exists(hint.number()) || exists(hint.number() + 1));
    }

    /**
     * Returns true if {@code later} has every pack of the manifest that lookups find from a hint
     * whose own manifest is gone. A lifecycle rule has then removed some manifests in between, and
     * advancing the hint to the later one loses no pack.
     */
    boolean isBuiltOn(PackManifest later, Hint hint) throws UnknownStateException {
        long there = lastFrom(hint.number());
        return there < later.number()
                && content(there) instanceof Content.Sound(PackManifest earlier)
                && earlier.packs().stream().allMatch(pack -> later.namesOrRetires(pack.name()));
    }

    /**
     * Returns true if all numbers after {@code low} up to {@code high} exist: the later manifests
     * were built on the earlier ones.
     */
    boolean isContiguous(long low, long high) throws UnknownStateException {
        return lastFrom(low) >= high;
    }

    /**
     * Returns the newest manifest for a writer that knows {@code known}; a wrong response fails the
     * call and never yields an older manifest.
     *
     * @param hint where the search starts
     */
    Confirmed confirmed(PackManifest known, Hint hint) throws UnknownStateException {
        PackManifest start = known;
        for (int search = 0; search < SEARCHES; search++) {
            long number = start.number() == 0 ? newestNumber(hint) : lastFrom(start.number());
            if (number == 0) {
                return new Confirmed(PackManifest.NONE, true);
            }
            if (number == start.number()) {
                if (isUnchanged(start)) {
                    return new Confirmed(start, true);
                }
            } else {
                Optional<Confirmed> read = readConfirmed(number);
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

    /**
     * Returns false if a manifest no longer exists: the bucket was emptied and numbering restarted,
     * or old manifests were removed.
     */
    private boolean isUnchanged(PackManifest known) throws UnknownStateException {
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

    /** Returns the number of the newest manifest; 0 if there is none. */
    long newestNumber(Hint hint) throws UnknownStateException {
        boolean isThere = hint.number() > 0 && exists(hint.number());
        long from = isThere || hint.number() == 0 ? hint.searchStart() : 0;
        long last = lastFrom(from);
        if (isThere || (hint.number() == 0 && last > from)) {
            return last;
        }
        return Math.max(last == from ? 0 : last, lastListed(hint.number()));
    }

    /**
     * Returns the last number in a listing, for a chain whose first manifests were removed. If the
     * hint is 0 and listing is forbidden, the first commit of the target is taken to be in
     * progress.
     */
    private long lastListed(long hint) throws UnknownStateException {
        if (store instanceof DeadlineBound) {
            // a lifecycle rule may have removed the manifest of the hint, but not the later ones
            long after = hint == 0 ? 0 : lastFrom(hint);
            if (hint == 0 || after > hint) {
                return after;
            }
            throw new UnknownStateException(StoreFailure.of(
                    StoreFailure.Kind.TIMEOUT,
                    "the newest manifest must be listed, which takes longer than the"
                            + " deadline of a lookup"));
        }
        NavigableSet<Long> last = new TreeSet<>();
        ListResult listed =
                store.list(keys.manifestPrefix(), object -> keys.manifestNumber(object.key())
                        .ifPresent(number -> {
                            last.add(number);
                            if (last.size() > MAX_CANDIDATES) {
                                last.pollFirst();
                            }
                        }));
        if (listed instanceof ListResult.Unavailable unavailable) {
            if (hint == 0 && AbsenceVerifier.isForbidden(unavailable.failure())) {
                return 0;
            }
            String advice = AbsenceVerifier.isForbidden(unavailable.failure())
                    ? " (" + keys.hint()
                            + " names a manifest that is gone, so the newest one must be listed:"
                            + " allow s3:ListBucket)"
                    : "";
            StoreFailure failure = unavailable.failure();
            throw new UnknownStateException(new StoreFailure(
                    failure.kind(), failure.status(), failure.code(), failure.message() + advice));
        }
        for (long number : last.descendingSet()) {
            if (number > 0 && number <= MAX_NUMBER && exists(number)) {
                return lastFrom(number);
            }
        }
        return 0;
    }

    /**
     * Returns the number of the last manifest, searched from an existing one or from 0: in steps of
     * 1, 2, 4, ..., then in halves.
     */
    private long lastFrom(long start) throws UnknownStateException {
        long low = start;
        long step = 1;
        while (exists(low + step)) {
            if (low + step > MAX_NUMBER) {
                throw new UnknownStateException(StoreFailure.of(
                        StoreFailure.Kind.BROKEN,
                        "a manifest of every number: is this an S3 server?"));
            }
            low += step;
            step *= 2;
        }
        for (step /= 2; step >= 1; step /= 2) {
            if (exists(low + step)) {
                low += step;
            }
        }
        return low;
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

    /** The outcome of one read of a manifest. */
    private sealed interface Content {
        record Sound(PackManifest manifest) implements Content {}

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
    private Content content(long number) throws UnknownStateException {
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

    /**
     * Returns the manifest of that number for readers; if it is damaged, the last sound one before
     * it, under that number.
     */
    private PackManifest read(long number, PackManifest known) throws UnknownStateException {
        for (long at = number; at > 0 && at > number - MAX_STEPS_BACK; at--) {
            if (at == known.number()) {
                return renumbered(known, number);
            }
            for (int read = 0; read < (at == number ? READER_READS : 1); read++) {
                if (content(at) instanceof Content.Sound(PackManifest manifest)) {
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
    private Optional<Confirmed> readConfirmed(long number) throws UnknownStateException {
        for (long at = number; at > number - MAX_STEPS_BACK; at--) {
            if (at == 0) {
                return Optional.of(new Confirmed(renumbered(PackManifest.NONE, number), false));
            }
            // the chain began later, or a rule removed what was before: readers find nothing either
            if (at == number - MAX_STEPS_BACK + 1 && isGone(at)) {
                return Optional.of(new Confirmed(renumbered(PackManifest.NONE, number), false));
            }
            Optional<PackManifest> sound = readSound(at);
            if (sound.isPresent()) {
                return Optional.of(new Confirmed(renumbered(sound.get(), number), at == number));
            }
            if (at == number && isGone(at)) {
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
            switch (content(number)) {
                case Content.Sound(PackManifest manifest) -> {
                    return Optional.of(manifest);
                }
                case Content.Absent _ -> {
                    agreeing += before == null ? 1 : 0;
                }
                case Content.Bad bad -> {
                    agreeing += read == 0 || (before != null && before.mismatch(bad.bytes()) == -1)
                            ? 1
                            : 0;
                    before = bad.bytes();
                    detail = bad.detail();
                }
            }
        }
        if (agreeing == READS && (before == null ? isGone(number) : isStored(number, before))) {
            return Optional.empty();
        }
        throw new UnknownStateException(StoreFailure.of(
                StoreFailure.Kind.BROKEN,
                keys.manifest(number) + " exists, but is not returned as it was written: "
                        + detail));
    }

    private boolean isGone(long number) throws UnknownStateException {
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
    private boolean isStored(long number, MemorySegment answered) throws UnknownStateException {
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
