package dev.granary.s3.pack;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Sha256;
import dev.granary.cache.format.PutId;
import dev.granary.s3.store.Failure;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.Marks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The manifests of one target in a bucket: reads the newest, commits the next. Thread-safe.
 *
 * <p>They are numbered from 1 without gaps, each is whole, and none is ever changed: to create the next number is to commit, and of any number
 * of writers one creates it. The others plan again on top of it. A hint says which was the newest some time ago; it is created before
 * the first manifest, so that a bucket without it has none, and is otherwise only a place to start searching from.
 *
 * <p>A commit builds on nothing but a {@linkplain ManifestChain#confirmed confirmed} manifest, and its own manifest is recognised by its bytes: metadata
 * may be stripped on the way. An answer that leaves open whether a manifest landed stays open until the bucket shows the manifest, or another one.
 */
public final class ManifestLog {
    private static final int MAX_ATTEMPTS = 20;
    private static final int MAX_UNKNOWNS = 2;
    private static final int MAX_HINT_ATTEMPTS = 3;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final int LONGEST_PAUSE_SHIFT = 5;

    private final ObjectStore store;
    private final PackKeys keys;
    private final ManifestChain chain;
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
        this.chain = new ManifestChain(store, keys, pause);
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
            return new Newest.Found(chain.newest(known));
        } catch (NoAnswer e) {
            return new Newest.Unavailable(e.failure().toString());
        }
    }

    /** True if readers who start anew come to {@code known}; empty if the bucket does not say. */
    Optional<Boolean> isNewest(Manifest known) {
        try {
            return Optional.of(chain.isNewest(known));
        } catch (NoAnswer e) {
            return Optional.empty();
        }
    }

    /** Has the hint name {@code newest}, which was confirmed a moment ago, as far as that is possible. Sends one request where it does. */
    void repairHint(Manifest newest) {
        try {
            chain.hint().filter(hint -> hint.number() != newest.number()).ifPresent(hint -> advance(hint, newest.number()));
        } catch (NoAnswer e) {
            // as it was: the next commit or compaction repairs it
        }
    }

    /** The newest manifest as a writer must know it: one wrong answer is a failure, and never an older manifest. */
    Newest confirmed() {
        return confirmed(Damaged.PASSED_BY);
    }

    /** The newest manifest as a remover must know it: confirmed, and not damaged in the bucket either. */
    Newest confirmedWhole() {
        return confirmed(Damaged.UNAVAILABLE);
    }

    /** What to make of a newest manifest that is damaged in the bucket. */
    private enum Damaged { PASSED_BY, UNAVAILABLE }

    private Newest confirmed(Damaged damaged) {
        try {
            ManifestChain.Confirmed newest = chain.confirmed(Manifest.NONE, chain.hint().map(ManifestChain.Hint::number).orElse(0L));
            return newest.isWhole() || damaged == Damaged.PASSED_BY
                    ? new Newest.Found(newest.manifest())
                    : new Newest.Unavailable("manifest " + newest.manifest().number() + " is damaged");
        } catch (NoAnswer e) {
            return new Newest.Unavailable(e.failure().toString());
        }
    }

    /**
     * Commits what {@code plan} makes of the newest manifest; it is asked again whenever another writer was faster.
     *
     * @param plan gives the next manifest, or empty where there is nothing to do any more
     */
    public Committed commit(Function<Manifest, Optional<Manifest>> plan) {
        Manifest base = Manifest.NONE;
        @Nullable Manifest open = null; // sent, and nobody can say yet whether it is committed
        String trouble = "";
        try {
            ManifestChain.Hint hint = createdHint();
            for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
                base = chain.confirmed(base, hint.number()).manifest();
                if (open != null && base.number() >= open.number()) {
                    if (isCommitted(open, base)) {
                        advance(hint, open.number());
                        return new Committed.Done(open);
                    }
                    open = null;
                }
                Optional<Manifest> next = plan.apply(base);
                if (next.isEmpty()) {
                    if (open == null && hint.number() != base.number()) {
                        advance(hint, base.number()); // the caller relies on what is there: readers must come to it
                    }
                    return open == null ? new Committed.Overtaken() : new Committed.Unknown(trouble);
                }
                if (!next.get().isReadable()) {
                    String tooMuch = "the packs of this target would have more than " + Manifest.MAX_ENTRIES + " entries, or their manifest"
                            + " more than " + Manifest.MAX_BYTES + " bytes: compact them, or remove what is not needed";
                    return open == null ? new Committed.Failed(tooMuch) : new Committed.Unknown(tooMuch);
                }
                switch (create(next.get())) {
                    case Created.Mine _ -> {
                        advance(hint, next.get().number());
                        return new Committed.Done(next.get());
                    }
                    case Created.Others _ -> trouble = "";
                    case Created.Open(String cause) -> {
                        open = next.get();
                        trouble = cause;
                    }
                }
                pause.accept(Duration.ofNanos(1 + random.nextLong(FIRST_PAUSE.toNanos() << Math.min(attempt, LONGEST_PAUSE_SHIFT))));
            }
            return open == null ? new Committed.Failed("other writers were faster " + MAX_ATTEMPTS + " times") : new Committed.Unknown(trouble);
        } catch (NoAnswer e) {
            return e.mayHaveLanded() || open != null ? new Committed.Unknown(e.failure().toString()) : new Committed.Failed(e.failure().toString());
        }
    }

    /** What became of one attempt to create a manifest. */
    private sealed interface Created {
        record Mine() implements Created {}

        /** That number is somebody else's. */
        record Others() implements Created {}

        /** Nobody can say yet; the bucket shows no manifest of that number, or none that is sound. */
        record Open(String cause) implements Created {}
    }

    private Created create(Manifest next) throws NoAnswer {
        byte[] body = next.encode();
        Marks marks = new Marks(PutId.random(random).hex(), Sha256.of(body).hex());
        String key = keys.manifest(next.number());
        Optional<Failure> unheard = Optional.empty(); // why there is no answer to an attempt that may have landed, or still may
        for (int attempt = 1; ; attempt++) {
            switch (store.putIfAbsent(key, body, marks)) {
                case WriteResult.Done _ -> {
                    return new Created.Mine();
                }
                case WriteResult.PreconditionFailed _ -> { // a proxy may have sent it twice: then the object is ours
                    return judged(key, body, unheard, "the server says that " + key + " is there, and does not show it");
                }
                case WriteResult.Conflict _ -> {
                    if (unheard.isEmpty()) {
                        return judged(key, body, unheard, "a conflict at " + key);
                    }
                    // else the conflict may be with the attempt before
                }
                case WriteResult.Unknown lost -> unheard = Optional.of(lost.failure());
                case WriteResult.NotAllowed refused -> throw unheard.isPresent() ? NoAnswer.afterWrite(refused.failure()) : new NoAnswer(refused.failure());
                case WriteResult.NotSent unsent -> throw unheard.isPresent() ? NoAnswer.afterWrite(unsent.failure()) : new NoAnswer(unsent.failure());
            }
            if (attempt > MAX_UNKNOWNS) {
                return judged(key, body, unheard, "a conflict at " + key);
            }
            pause.accept(FIRST_PAUSE.multipliedBy(attempt));
        }
    }

    /** Whose manifest is there. Its bytes tell: if they are those that were sent, the plan is carried out, whoever created it. */
    private Created judged(String key, byte[] body, Optional<Failure> unheard, String cause) throws NoAnswer {
        switch (store.get(key, Manifest.MAX_BYTES)) {
            case GetResult.Found found -> {
                byte[] there = found.bytes().toArray(ValueLayout.JAVA_BYTE);
                if (Arrays.equals(there, body)) {
                    return new Created.Mine();
                }
                return Manifest.decode(there) instanceof Manifest.Read.Ok ? new Created.Others() : new Created.Open(cause);
            }
            case GetResult.TooLarge _ -> {
                return new Created.Others();
            }
            case GetResult.Absent _ -> {
                return absent(unheard, cause);
            }
            case GetResult.Unavailable lost when Absence.isMeantBy(lost.failure(), key, store, keys) -> {
                return absent(unheard, cause);
            }
            case GetResult.Unavailable lost -> throw NoAnswer.afterWrite(lost.failure());
        }
    }

    private static Created absent(Optional<Failure> unheard, String cause) throws NoAnswer {
        if (unheard.isPresent()) {
            throw NoAnswer.afterWrite(unheard.get()); // it may land later
        }
        return new Created.Open(cause);
    }

    /** True if a manifest that was sent is the one of its number; {@code newest} is that number's, or a later one. */
    private boolean isCommitted(Manifest sent, Manifest newest) throws NoAnswer {
        byte[] body = sent.encode();
        return newest.number() == sent.number()
                ? Arrays.equals(newest.encode(), body)
                : judged(keys.manifest(sent.number()), body, Optional.empty(), "") instanceof Created.Mine;
    }

    /** The hint, created if there is none. An answer that says nothing is asked for again: a bucket without a hint has no manifests. */
    private ManifestChain.Hint createdHint() throws NoAnswer {
        Failure trouble = Failure.of(Failure.Kind.SERVER, "the server says that " + keys.hint() + " is there, and does not show it");
        for (int attempt = 1; attempt <= MAX_HINT_ATTEMPTS; attempt++) {
            try {
                Optional<ManifestChain.Hint> hint = chain.hint();
                if (hint.isPresent()) {
                    return hint.get();
                }
            } catch (NoAnswer e) {
                trouble = e.failure(); // 403 may stand for an absent one, and creating it does no harm in any case
            }
            switch (store.putIfAbsent(keys.hint(), "0".getBytes(US_ASCII), Marks.NONE)) {
                case WriteResult.Done done -> {
                    return new ManifestChain.Hint(0, done.etag());
                }
                case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> {}
                case WriteResult.Unknown lost -> trouble = lost.failure();
                case WriteResult.NotAllowed refused -> throw new NoAnswer(refused.failure());
                case WriteResult.NotSent unsent -> throw new NoAnswer(unsent.failure());
            }
            pause.accept(FIRST_PAUSE.multipliedBy(attempt));
        }
        throw new NoAnswer(trouble);
    }

    /**
     * Advances the hint, as far as that is possible: one that stays behind costs requests. A server that replaces no versions gets a plain write, which
     * may take the hint back a little; but a hint that is never written expires, and with it what readers find.
     */
    private void advance(ManifestChain.Hint hint, long number) {
        byte[] text = Long.toString(number).getBytes(US_ASCII);
        Optional<ManifestChain.Hint> now = Optional.of(hint);
        for (int attempt = 1; attempt <= MAX_HINT_ATTEMPTS; attempt++) {
            if (isHintWritten(now, text)) {
                return;
            }
            pause.accept(FIRST_PAUSE.multipliedBy(attempt));
            try {
                now = chain.hint();
                boolean isOthers = now.isPresent() && !now.get().etag().equals(hint.etag()); // who wrote it knew what is newer
                if (now.isPresent() && (now.get().number() == number || (isOthers && now.get().number() > number))) {
                    return;
                }
            } catch (NoAnswer e) {
                // asked again
            }
        }
    }

    private boolean isHintWritten(Optional<ManifestChain.Hint> before, byte[] text) {
        if (before.isEmpty()) {
            return store.putIfAbsent(keys.hint(), text, Marks.NONE) instanceof WriteResult.Done;
        }
        if (before.get().etag().isEmpty()) {
            return store.put(keys.hint(), text, Marks.NONE) instanceof WriteResult.Done;
        }
        return switch (store.replaceIfMatch(keys.hint(), before.get().etag(), text, Marks.NONE)) {
            case WriteResult.Done _ -> true;
            case WriteResult.NotAllowed refused when refused.failure().kind() == Failure.Kind.NOT_SUPPORTED ->
                store.put(keys.hint(), text, Marks.NONE) instanceof WriteResult.Done;
            case WriteResult.NotAllowed _, WriteResult.PreconditionFailed _, WriteResult.Conflict _, WriteResult.NotSent _, WriteResult.Unknown _ -> false;
        };
    }
}
