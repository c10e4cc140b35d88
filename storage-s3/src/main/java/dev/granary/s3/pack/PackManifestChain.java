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
import org.jspecify.annotations.Nullable;

/**
 * Finds and reads the manifests of one target. Changes nothing in the bucket. Thread-safe.
 *
 * <p>Readers take the last sound manifest: a stale one costs them misses. Writers and removers take {@linkplain #confirmed confirmed}
 * ones only: what is not in the manifest that they build on is lost to everybody.
 */
final class PackManifestChain {
    private static final int MAX_STEPS_BACK = 8;
    private static final int READS = 3;
    private static final int READER_READS = 2;
    private static final int SEARCHES = 3;
    private static final int MAX_CANDIDATES = 8;
    private static final int CHECKSUM_BYTES = Integer.BYTES;
    private static final int NOT_SATISFIABLE = 416;

    /** Numbers are milliseconds since {@link #EPOCH} at the most, and a few: enough for 278 years. */
    private static final long MAX_NUMBER = 1L << 43;

    private static final long SMALL_NUMBER = 1L << 20;
    private static final int LARGE_DIGITS = 16;
    private static final String LARGE_NUMBER = "%0" + LARGE_DIGITS + "d";

    /** The first number of a chain that begins when the server's clock says so; one that began before, or at an unknown time, begins at 1. */
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
     * @param number what it says; 0 if it says nothing of use, or nothing is committed yet
     * @param etag its version
     * @param writtenMillis when it was written, by the server's clock, in milliseconds since 1970; 0 if the server did not tell
     */
    record Hint(long number, String etag, long writtenMillis) {
        /**
         * The number of the first manifest where there is none. All writers that see this version of the hint come to the same one, so that one of them
         * creates it. It is larger than any number of manifests that were removed before the hint was written: numbers never come again, and whoever
         * knows a manifest from before a bucket was emptied builds on nothing that is there now.
         */
        long first() {
            return Math.max(Math.max(1, writtenMillis - EPOCH.toEpochMilli()), number + 1);
        }

        /** The number from which on the newest manifest is searched: all up to the newest follow without a gap. */
        long searchedFrom() {
            return number > 0 ? number : first() - 1;
        }
    }

    /**
     * A manifest on which a writer may build.
     *
     * @param manifest the manifest
     * @param isWhole false if the newest one is damaged in the bucket, and this is the last sound one before it
     */
    record Confirmed(PackManifest manifest, boolean isWhole) {}

    /** The hint; empty if there is none, and thus nobody has ever begun a commit. A text that is none of a hint's is asked for again. */
    Optional<Hint> hint() throws UnknownStateException {
        GetResult answer = store.get(keys.hint(), AbsenceVerifier.HINT_BYTES);
        for (int read = 1; read < READER_READS && answer instanceof GetResult.Found found && parsed(found).isEmpty(); read++) {
            answer = store.get(keys.hint(), AbsenceVerifier.HINT_BYTES);
        }
        return switch (answer) {
            case GetResult.Found found -> Optional.of(new Hint(parsed(found).orElse(0), found.etag(), found.dates().lastModifiedMillis()));
            case GetResult.TooLarge _ -> Optional.of(new Hint(0, "", 0));
            case GetResult.Absent _ -> Optional.empty();
            case GetResult.Unavailable unavailable -> throw new UnknownStateException(unavailable.failure());
        };
    }

    /** The text of a hint. Large numbers have zeros in front, so that the beginning of one is never taken for another one. */
    static byte[] hintText(long number) {
        return (number < SMALL_NUMBER ? Long.toString(number) : String.format(Locale.ROOT, LARGE_NUMBER, number)).getBytes(US_ASCII);
    }

    private static OptionalLong parsed(GetResult.Found hint) {
        String text = new String(hint.bytes().toArray(ValueLayout.JAVA_BYTE), US_ASCII).strip();
        try {
            long number = Long.parseLong(text);
            boolean isWhole = text.length() == LARGE_DIGITS || text.equals("0") || (number < SMALL_NUMBER && !text.startsWith("0"));
            return isWhole && number >= 0 && number <= MAX_NUMBER ? OptionalLong.of(number) : OptionalLong.empty();
        } catch (NumberFormatException e) {
            return OptionalLong.empty();
        }
    }

    /** The newest manifest for a reader, who knows {@code known} already. */
    PackManifest newest(PackManifest known) throws UnknownStateException {
        long number = known.number() == 0 ? 0 : lastFrom(known.number());
        boolean isUnchanged = number > known.number() || (number > 0 && isUnchanged(known));
        Optional<Hint> hint = hint();
        if (isUnchanged && hint.map(Hint::number).orElse(0L) <= number) { // a later hint leads over a gap, or to what began anew in an emptied bucket
            return number == known.number() ? known : read(number, known);
        }
        return hint.isEmpty() ? PackManifest.NONE : read(newestNumber(hint.get()), PackManifest.NONE);
    }

    /** True if a reader who starts anew comes to {@code known}, as far as the hint and the next number tell. */
    boolean isNewest(PackManifest known) throws UnknownStateException {
        Optional<Hint> hint = hint();
        if (hint.isEmpty()) {
            return known.number() == 0;
        }
        return hint.get().number() <= known.number() && !exists(known.number() == 0 ? hint.get().first() : known.number() + 1);
    }

    /**
     * True if a process that starts anew at the hint comes to the manifest of that number, or a later one that was built on it.
     *
     * @param number of a manifest that is there
     */
    boolean leadsTo(long number, Hint hint) throws UnknownStateException {
        long from = hint.searchedFrom();
        return from >= number ? from == number || isContiguous(number, from) : number == from + 1 || isContiguous(from, number);
    }

    /**
     * True if a manifest that was just created is not the newest, and the next one was not built on it: somebody had removed the one before that, of the
     * same number. One that is damaged hides nothing, since it is passed by.
     */
    boolean isHidden(PackManifest created) throws UnknownStateException {
        return exists(created.number() + 1) && content(created.number() + 1) instanceof Content.Sound(PackManifest next)
                && !created.packs().stream().allMatch(pack -> next.namesOrRetires(pack.name()));
    }

    /** True if the manifest that the hint names is there, or the one after it. */
    boolean leadsAnywhere(Hint hint) throws UnknownStateException {
        return hint.number() > 0 && (exists(hint.number()) || exists(hint.number() + 1));
    }

    /**
     * True if a manifest knows every pack of the one to which look-ups come from a hint whose own manifest is gone: a rule has taken some in between,
     * and nothing of those that are left would be lost behind a hint that names the later one.
     */
    boolean isBuiltOn(PackManifest later, Hint hint) throws UnknownStateException {
        long there = lastFrom(hint.number());
        return there < later.number() && content(there) instanceof Content.Sound(PackManifest earlier)
                && earlier.packs().stream().allMatch(pack -> later.namesOrRetires(pack.name()));
    }

    /** True if there is a manifest of each number from the one after {@code low} to {@code high}: the later ones were built on the earlier ones. */
    boolean isContiguous(long low, long high) throws UnknownStateException {
        return lastFrom(low) >= high;
    }

    /**
     * The newest manifest for a writer, who knows {@code known} already: a wrong answer makes it fail, not step back.
     *
     * @param hint where to start searching
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
            start = PackManifest.NONE; // it vanished meanwhile
        }
        throw new UnknownStateException(StoreFailure.of(StoreFailure.Kind.SERVER, "the newest manifest is there in one answer and gone in the next"));
    }

    /** False if a manifest is not there any more: somebody emptied the bucket, and numbers begin again, or old ones were removed. */
    private boolean isUnchanged(PackManifest known) throws UnknownStateException {
        String key = keys.manifest(known.number());
        return switch (store.head(key)) {
            case HeadResult.Found found when found.marks().sha256().isEmpty() -> hasSameChecksum(known, key, found.bytes());
            case HeadResult.Found found -> {
                byte[] expected = known.encode();
                yield found.bytes() == expected.length && found.marks().sha256().equals(Sha256.of(expected).hex());
            }
            case HeadResult.Absent _ -> false;
            case HeadResult.Unavailable unavailable when AbsenceVerifier.isAbsent(unavailable.failure(), key, store, keys) -> false;
            case HeadResult.Unavailable unavailable -> throw new UnknownStateException(unavailable.failure());
        };
    }

    /** Compares the checksum at the end, for servers that keep no metadata. */
    private boolean hasSameChecksum(PackManifest known, String key, long bytes) throws UnknownStateException {
        byte[] expected = known.encode();
        int from = expected.length - CHECKSUM_BYTES;
        return bytes == expected.length
                && readRange(key, from, CHECKSUM_BYTES).filter(end -> Arrays.equals(end, 0, end.length, expected, from, expected.length)).isPresent();
    }

    /** The number of the newest manifest; 0 if there is none. */
    long newestNumber(Hint hint) throws UnknownStateException {
        boolean isThere = hint.number() > 0 && exists(hint.number());
        long from = isThere || hint.number() == 0 ? hint.searchedFrom() : 0;
        long last = lastFrom(from);
        if (isThere || (hint.number() == 0 && last > from)) {
            return last;
        }
        return Math.max(last == from ? 0 : last, lastListed(hint.number()));
    }

    /**
     * The number of the last manifest in a listing, for a chain whose beginning was removed behind the hint. A target whose hint is 0, and which may
     * not be listed, is taken for one whose first commit is under way.
     */
    private long lastListed(long hint) throws UnknownStateException {
        if (store instanceof DeadlineBound) {
            long after = hint == 0 ? 0 : lastFrom(hint); // a rule may have taken the one that the hint names, and left what follows
            if (hint == 0 || after > hint) {
                return after;
            }
            throw new UnknownStateException(StoreFailure.of(StoreFailure.Kind.TIMEOUT, "the newest manifest must be listed, which takes longer than a look-up may"));
        }
        NavigableSet<Long> last = new TreeSet<>();
        ListResult listed = store.list(keys.manifestPrefix(), object -> keys.manifestNumber(object.key()).ifPresent(number -> {
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
                    ? " (" + keys.hint() + " names a manifest that is gone, so the newest one must be listed: allow s3:ListBucket)" : "";
            throw new UnknownStateException(new StoreFailure(unavailable.failure().kind(), unavailable.failure().status(), unavailable.failure().code(), unavailable.failure().message() + advice));
        }
        for (long number : last.descendingSet()) {
            if (number > 0 && number <= MAX_NUMBER && exists(number)) {
                return lastFrom(number);
            }
        }
        return 0;
    }

    /** The number of the last manifest, searched from one that is there, or from 0: steps of 1, 2, 4, ... forward, then halves. */
    private long lastFrom(long start) throws UnknownStateException {
        long low = start;
        long step = 1;
        while (exists(low + step)) {
            if (low + step > MAX_NUMBER) {
                throw new UnknownStateException(StoreFailure.of(StoreFailure.Kind.BROKEN, "a manifest of every number: is this an S3 server?"));
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

    /** True if there is a manifest of that number. */
    boolean exists(long number) throws UnknownStateException {
        String key = keys.manifest(number);
        return switch (store.head(key)) {
            case HeadResult.Found found -> !found.marks().putId().isEmpty() || beginsLikeManifest(key, number);
            case HeadResult.Absent _ -> false;
            case HeadResult.Unavailable unavailable when AbsenceVerifier.isAbsent(unavailable.failure(), key, store, keys) -> false;
            case HeadResult.Unavailable unavailable -> throw new UnknownStateException(unavailable.failure());
        };
    }

    /** Without metadata it is a manifest behind a proxy that strips metadata, or nothing of ours, such as a page with 200. */
    private boolean beginsLikeManifest(String key, long number) throws UnknownStateException {
        return readRange(key, 0, PackManifest.HEAD_BYTES).filter(first -> PackManifest.isHeadOf(first, number)).isPresent();
    }

    private Optional<byte[]> readRange(String key, long offset, int length) throws UnknownStateException {
        return switch (store.range(key, offset, length)) {
            case GetResult.Found found -> Optional.of(found.bytes().toArray(ValueLayout.JAVA_BYTE));
            case GetResult.Absent _, GetResult.TooLarge _ -> Optional.empty();
            case GetResult.Unavailable unavailable when unavailable.failure().status() == NOT_SATISFIABLE -> Optional.empty();
            case GetResult.Unavailable unavailable -> throw new UnknownStateException(unavailable.failure());
        };
    }

    /** What one read of a manifest brought. */
    private sealed interface Content {
        record Sound(PackManifest manifest) implements Content {}

        record Absent() implements Content {}

        /** Something else; the bytes are empty if there are more than a manifest has. */
        record Bad(MemorySegment bytes, String detail) implements Content {}
    }

    /** One of a newer version is no damage: to go on without what it says would take it from everybody. */
    private Content content(long number) throws UnknownStateException {
        String key = keys.manifest(number);
        return switch (store.get(key, PackManifest.MAX_BYTES)) {
            case GetResult.Found found -> {
                MemorySegment bytes = found.bytes();
                yield switch (PackManifest.decode(bytes.toArray(ValueLayout.JAVA_BYTE))) {
                    case PackManifest.Read.Ok(PackManifest manifest) when manifest.number() == number -> new Content.Sound(manifest);
                    case PackManifest.Read.Ok(PackManifest manifest) -> new Content.Bad(bytes, "it is manifest " + manifest.number());
                    case PackManifest.Read.Bad bad when bad.damage() == DamageKind.TOO_NEW -> throw new UnknownStateException(StoreFailure.of(
                            StoreFailure.Kind.NOT_SUPPORTED, key + " was written by a newer version of Granary: " + bad.detail()));
                    case PackManifest.Read.Bad bad -> new Content.Bad(bytes, bad.detail());
                };
            }
            case GetResult.TooLarge _ -> new Content.Bad(MemorySegment.NULL, "it has more than " + PackManifest.MAX_BYTES + " bytes");
            case GetResult.Absent _ -> new Content.Absent();
            case GetResult.Unavailable unavailable when AbsenceVerifier.isAbsent(unavailable.failure(), key, store, keys) -> new Content.Absent();
            case GetResult.Unavailable unavailable -> throw new UnknownStateException(unavailable.failure());
        };
    }

    /** The manifest of that number; if it is damaged, under its number what the last sound one before it says. For readers. */
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
     * The manifest of that number, for writers; empty if it is gone. One that is damaged must be so in the bucket, and not in an answer: then the last
     * sound one before it counts, as for readers, and none if there is none.
     */
    private Optional<Confirmed> readConfirmed(long number) throws UnknownStateException {
        for (long at = number; at > number - MAX_STEPS_BACK; at--) {
            if (at == 0) {
                return Optional.of(new Confirmed(renumbered(PackManifest.NONE, number), false));
            }
            if (at == number - MAX_STEPS_BACK + 1 && isGone(at)) { // the chain began later, or a rule has taken what was before: readers find nothing either
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
        throw new UnknownStateException(StoreFailure.of(StoreFailure.Kind.BROKEN, "the last " + MAX_STEPS_BACK + " manifests up to " + keys.manifest(number)
                + " are damaged or gone: remove them to begin anew"));
    }

    /** The manifest; empty if it is damaged or gone in the bucket, which takes several answers that agree. */
    private Optional<PackManifest> readSound(long number) throws UnknownStateException {
        @Nullable MemorySegment before = null;
        int agreeing = 0;
        String detail = "it is answered 404";
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
                    agreeing += read == 0 || (before != null && before.mismatch(bad.bytes()) == -1) ? 1 : 0;
                    before = bad.bytes();
                    detail = bad.detail();
                }
            }
        }
        if (agreeing == READS && (before == null ? isGone(number) : isStored(number, before))) {
            return Optional.empty();
        }
        throw new UnknownStateException(StoreFailure.of(StoreFailure.Kind.BROKEN, keys.manifest(number) + " is there, and is not answered as it was written: " + detail));
    }

    private boolean isGone(long number) throws UnknownStateException {
        String key = keys.manifest(number);
        return switch (store.head(key)) {
            case HeadResult.Found _ -> false;
            case HeadResult.Absent _ -> true;
            case HeadResult.Unavailable unavailable when AbsenceVerifier.isAbsent(unavailable.failure(), key, store, keys) -> true;
            case HeadResult.Unavailable unavailable -> throw new UnknownStateException(unavailable.failure());
        };
    }

    /** True if the object has as many bytes as were answered: an answer that was cut on its way is no damage in the bucket. */
    private boolean isStored(long number, MemorySegment answered) throws UnknownStateException {
        return switch (store.head(keys.manifest(number))) {
            case HeadResult.Found found -> answered.byteSize() == 0 ? found.bytes() > PackManifest.MAX_BYTES : found.bytes() == answered.byteSize();
            case HeadResult.Absent _ -> false;
            case HeadResult.Unavailable unavailable -> throw new UnknownStateException(unavailable.failure());
        };
    }

    /** Under another number it is the last sound one before a damaged one, which may have said that entries lie alone. */
    private static PackManifest renumbered(PackManifest manifest, long number) {
        return manifest.number() == number ? manifest : new PackManifest(number, PackManifest.UnpackedEntries.POSSIBLE, manifest.packs(), manifest.retired());
    }
}
