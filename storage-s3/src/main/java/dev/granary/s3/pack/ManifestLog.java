package dev.granary.s3.pack;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Damage;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.PutId;
import dev.granary.s3.store.Failure;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.Marks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.random.RandomGenerator;

/**
 * The manifests of one target in a bucket: reads the newest, commits the next. Thread-safe.
 *
 * <p>They are numbered from 1 without gaps, each is whole, and none is ever changed: to create the next number is to commit, and of any number
 * of writers one creates it. The others plan again on top of it. A hint says which was the newest some time ago; it is created before
 * the first manifest, so that a bucket without it has none, and is otherwise only a place to start searching from.
 */
public final class ManifestLog {
    private static final int MAX_ATTEMPTS = 20;
    private static final int MAX_UNKNOWNS = 2;
    private static final int MAX_STEPS_BACK = 8;
    private static final int HINT_BYTES = 20;

    /** One commit a second for 30,000 years. */
    private static final long MAX_NUMBER = 1L << 40;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final int LONGEST_PAUSE_SHIFT = 5;

    private final ObjectStore store;
    private final PackKeys keys;
    private final RandomGenerator random;
    private final Consumer<Duration> pause;

    /**
     * The manifests under {@code keys}.
     *
     * @param pause waits that long before a request is tried again
     */
    public ManifestLog(ObjectStore store, PackKeys keys, RandomGenerator random, Consumer<Duration> pause) {
        this.store = store;
        this.keys = keys;
        this.random = random;
        this.pause = pause;
    }

    /** What the bucket says of the newest manifest. */
    public sealed interface Newest {
        /**
         * This one; {@link Manifest#NONE} where there is none.
         *
         * @param manifest the manifest
         */
        record Found(Manifest manifest) implements Newest {}

        /**
         * Nobody can say.
         *
         * @param cause why, for people
         */
        record Unavailable(String cause) implements Newest {}
    }

    /** What became of a commit. */
    public sealed interface Committed {
        /**
         * The plan is carried out.
         *
         * @param manifest the newest manifest, ours
         */
        record Done(Manifest manifest) implements Committed {}

        /** The planner wants nothing any more, in view of the newest manifest. */
        record Overtaken() implements Committed {}

        /**
         * Not carried out; a later try may succeed, unless it was refused.
         *
         * @param cause why, for people
         */
        record Failed(String cause) implements Committed {}

        /**
         * It may be carried out or not, now or later: the answer never came.
         *
         * @param cause why, for people
         */
        record Unknown(String cause) implements Committed {}
    }

    /** The newest manifest, where {@code known} is one that was read before. */
    public Newest newest(Manifest known) {
        try {
            long number = known.number() == 0 ? 0 : lastFrom(known.number());
            if (number > known.number()) {
                return new Newest.Found(read(number, known));
            }
            if (number > 0 && isStill(known)) {
                return new Newest.Found(known);
            }
            Optional<Long> hint = hint();
            return new Newest.Found(hint.isEmpty() ? Manifest.NONE : read(lastFrom(hint.get()), Manifest.NONE));
        } catch (NoAnswer e) {
            return new Newest.Unavailable(e.failure.toString());
        }
    }

    /** False where a manifest is not there any more: somebody emptied the bucket, and numbers begin again, or old ones were removed. */
    private boolean isStill(Manifest known) throws NoAnswer {
        return switch (store.head(keys.manifest(known.number()))) {
            case HeadResult.Found found -> found.marks().sha256().isEmpty() || found.marks().sha256().equals(Sha256.of(known.encode()).hex());
            case HeadResult.Absent _ -> false;
            case HeadResult.Unavailable lost -> throw new NoAnswer(lost.failure());
        };
    }

    /**
     * Commits what {@code plan} makes of the newest manifest; it is asked again whenever another writer was faster.
     *
     * @param plan gives the next manifest, or empty where there is nothing to do any more
     */
    public Committed commit(Function<Manifest, Optional<Manifest>> plan) {
        Manifest base = Manifest.NONE;
        try {
            createHint();
            for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
                switch (newest(base)) {
                    case Newest.Found found -> base = found.manifest();
                    case Newest.Unavailable lost -> {
                        return new Committed.Failed(lost.cause());
                    }
                }
                Optional<Manifest> next = plan.apply(base);
                if (next.isEmpty()) {
                    return new Committed.Overtaken();
                }
                if (!next.get().isReadable()) {
                    return new Committed.Failed("the packs of this target would have more than " + Manifest.MAX_ENTRIES + " entries, or their manifest"
                            + " more than " + Manifest.MAX_BYTES + " bytes: compact them, or remove what is not needed");
                }
                if (create(next.get())) {
                    advanceHint(next.get().number());
                    return new Committed.Done(next.get());
                }
                pause.accept(Duration.ofNanos(1 + random.nextLong(FIRST_PAUSE.toNanos() << Math.min(attempt, LONGEST_PAUSE_SHIFT))));
            }
            return new Committed.Failed("other writers were faster " + MAX_ATTEMPTS + " times");
        } catch (NoAnswer e) {
            return e.mayHaveLanded ? new Committed.Unknown(e.failure.toString()) : new Committed.Failed(e.failure.toString());
        }
    }

    /** True if the manifest was created by this; false if that number is somebody else's, or is about to be. */
    private boolean create(Manifest next) throws NoAnswer {
        byte[] body = next.encode();
        Marks marks = new Marks(PutId.random(random).hex(), Sha256.of(body).hex());
        String key = keys.manifest(next.number());
        Optional<Failure> unheard = Optional.empty(); // why there is no answer to an attempt that may have landed, or still may
        for (int attempt = 1; ; attempt++) {
            switch (store.putIfAbsent(key, body, marks)) {
                case WriteResult.Done _ -> {
                    return true;
                }
                case WriteResult.PreconditionFailed _ -> {
                    return isMine(key, marks, unheard);
                }
                case WriteResult.Conflict _ -> {
                    if (unheard.isEmpty()) {
                        return false; // nothing is known to have landed; what has is found by the next round
                    }
                    // else the conflict may be with the attempt before
                }
                case WriteResult.Unknown lost -> unheard = Optional.of(lost.failure());
                case WriteResult.NotAllowed refused -> throw new NoAnswer(refused.failure(), unheard.isPresent());
                case WriteResult.NotSent unsent -> throw new NoAnswer(unsent.failure(), unheard.isPresent());
            }
            if (attempt > MAX_UNKNOWNS) {
                return isMine(key, marks, unheard);
            }
            pause.accept(FIRST_PAUSE.multipliedBy(attempt));
        }
    }

    /** True where the manifest is ours; false where it cannot come to be ours any more. */
    private boolean isMine(String key, Marks marks, Optional<Failure> unheard) throws NoAnswer {
        switch (store.head(key)) {
            case HeadResult.Found found -> {
                return found.marks().putId().equals(marks.putId());
            }
            case HeadResult.Absent _ -> {
                if (unheard.isPresent()) {
                    throw new NoAnswer(unheard.get(), true); // it may land later
                }
                return false;
            }
            case HeadResult.Unavailable lost -> throw new NoAnswer(lost.failure(), unheard.isPresent());
        }
    }

    /** The number of the last manifest, searched from one that is there, or from 0: steps of 1, 2, 4, ... forward, then halves. */
    private long lastFrom(long start) throws NoAnswer {
        long low = start;
        long step = 1;
        while (exists(low + step)) {
            if (low + step > MAX_NUMBER) {
                throw new NoAnswer(Failure.of(Failure.Kind.BROKEN, "a manifest of every number: is this an S3 server?"));
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

    private boolean exists(long number) throws NoAnswer {
        return switch (store.head(keys.manifest(number))) {
            case HeadResult.Found found -> !found.marks().putId().isEmpty(); // else it is nothing of ours, such as a page with 200
            case HeadResult.Absent _ -> false;
            case HeadResult.Unavailable lost -> throw new NoAnswer(lost.failure());
        };
    }

    /**
     * The manifest of that number; where it is damaged, under its number what the last sound one before it says. One of a newer version is no
     * damage: to go on without what it says would take it from everybody.
     */
    private Manifest read(long number, Manifest known) throws NoAnswer {
        for (long at = number; at > 0 && at > number - MAX_STEPS_BACK; at--) {
            if (at == known.number()) {
                return renumbered(known, number);
            }
            switch (store.get(keys.manifest(at), Manifest.MAX_BYTES)) {
                case GetResult.Found found -> {
                    switch (Manifest.decode(found.bytes().toArray(ValueLayout.JAVA_BYTE))) {
                        case Manifest.Read.Ok(Manifest manifest) -> {
                            if (manifest.number() == at) {
                                return renumbered(manifest, number);
                            } // else one in the place of another
                        }
                        case Manifest.Read.Bad bad when bad.damage() == Damage.TOO_NEW -> throw new NoAnswer(Failure.of(
                                Failure.Kind.NOT_SUPPORTED, keys.manifest(at) + " was written by a newer version of Granary: " + bad.detail()));
                        case Manifest.Read.Bad _ -> {}
                    }
                }
                case GetResult.Absent _, GetResult.TooLarge _ -> {} // removed meanwhile, or not one of ours
                case GetResult.Unavailable lost -> throw new NoAnswer(lost.failure());
            }
        }
        return renumbered(known, number);
    }

    private static Manifest renumbered(Manifest manifest, long number) {
        return manifest.number() == number ? manifest : new Manifest(number, manifest.loose(), manifest.packs(), manifest.retired());
    }

    /** Where to search from; empty where nobody has ever begun a commit. */
    private Optional<Long> hint() throws NoAnswer {
        return switch (store.get(keys.hint(), HINT_BYTES)) {
            case GetResult.Found found -> Optional.of(started(new String(found.bytes().toArray(ValueLayout.JAVA_BYTE), US_ASCII)));
            case GetResult.TooLarge _ -> Optional.of(0L);
            case GetResult.Absent _ -> Optional.empty();
            case GetResult.Unavailable lost -> throw new NoAnswer(lost.failure());
        };
    }

    /** The number that the hint tells, if that manifest is there; else 0. */
    private long started(String hint) throws NoAnswer {
        try {
            long number = Long.parseLong(hint.strip());
            return number > 0 && number <= MAX_NUMBER && exists(number) ? number : 0;
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    private void createHint() throws NoAnswer {
        if (store.head(keys.hint()) instanceof HeadResult.Found) {
            return;
        }
        switch (store.putIfAbsent(keys.hint(), "0".getBytes(US_ASCII), Marks.NONE)) {
            case WriteResult.Done _, WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> {}
            case WriteResult.Unknown lost -> throw new NoAnswer(lost.failure());
            case WriteResult.NotAllowed refused -> throw new NoAnswer(refused.failure());
            case WriteResult.NotSent unsent -> throw new NoAnswer(unsent.failure());
        }
    }

    /** Best effort: a hint that stays behind costs readers some requests more. */
    private void advanceHint(long number) {
        if (store.head(keys.hint()) instanceof HeadResult.Found found) {
            WriteResult ignored = store.replaceIfMatch(keys.hint(), found.etag(), Long.toString(number).getBytes(US_ASCII), Marks.NONE);
        }
    }

    /** The bucket did not say what was needed; ends a method of this class and never leaves it. */
    private static final class NoAnswer extends Exception {
        private final transient Failure failure;
        private final boolean mayHaveLanded;

        NoAnswer(Failure failure) {
            this(failure, false);
        }

        NoAnswer(Failure failure, boolean mayHaveLanded) {
            super(failure.toString(), null, false, false);
            this.failure = failure;
            this.mayHaveLanded = mayHaveLanded;
        }
    }
}
