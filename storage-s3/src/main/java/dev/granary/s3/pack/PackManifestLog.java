package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.s3.write.RetryPolicy;
import dev.granary.s3.write.WriteAttempts;
import dev.granary.s3.write.WriteVerdict;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.random.RandomGenerator;

/**
 * The manifests of one target in a bucket: reads the newest, commits the next. Thread-safe.
 *
 * <p>Manifests are numbered without gaps, complete, and never changed. Creating the next number is
 * the commit; of several writers one succeeds, and the others plan again on top of it. The hint
 * names a recent manifest. It is created before the first manifest, so that a bucket without a hint
 * has no manifests. Otherwise it is only a place to start searching from.
 *
 * <p>The first number is derived from the time at which the hint was created. Numbers are thus
 * never reused, even if all objects were removed. A writer that was suspended meanwhile may still
 * create the manifest after the one that it knew. Readers do not find that manifest, and the writer
 * detects this before it reports success.
 *
 * <p>A commit builds only on a {@linkplain PackManifestChain#confirmed confirmed} manifest. Its own
 * manifest is recognised by its bytes, since metadata may be stripped. An ambiguous write stays
 * ambiguous until the bucket shows that manifest or another one.
 */
public final class PackManifestLog {
    private static final int MAX_ATTEMPTS = 20;
    private static final int MAX_HINT_ATTEMPTS = 3;
    private static final int MAX_UNDATED = 1;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final RetryPolicy RETRIES = RetryPolicy.upTo(3, FIRST_PAUSE);
    private static final int LONGEST_PAUSE_SHIFT = 5;
    private static final String HINT_UNREADABLE =
            "it is unknown whether readers reach the newest manifest: the hint cannot be read";
    private static final String UNREACHABLE =
            "a manifest was written that readers do not reach now";

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackManifestChain chain;
    private final RandomGenerator random;
    private final Consumer<Duration> pause;

    /**
     * Creates a log of the manifests under {@code keys}.
     *
     * @param pause waits for a duration before a retry
     */
    public PackManifestLog(
            ObjectStore store,
            TargetLayout keys,
            RandomGenerator random,
            Consumer<Duration> pause) {
        this.store = store;
        this.keys = keys;
        this.chain = new PackManifestChain(store, keys, pause);
        this.random = random;
        this.pause = pause;
    }

    /** The outcome of reading the newest manifest. */
    public sealed interface Newest {
        /**
         * The newest manifest.
         *
         * @param manifest the manifest; {@link PackManifest#NONE} if there is none
         */
        record Found(PackManifest manifest) implements Newest {}

        /**
         * The newest manifest cannot be determined.
         *
         * @param cause the cause, for people
         */
        record Unavailable(String cause) implements Newest {}
    }

    /** The outcome of a commit. */
    public sealed interface Committed {
        /**
         * The plan was committed.
         *
         * @param manifest the newest manifest, created by this commit
         */
        record Done(PackManifest manifest) implements Committed {}

        /**
         * The planner had nothing to change in the newest manifest, and no manifest of this commit
         * exists or may come to exist.
         */
        record Overtaken() implements Committed {}

        /**
         * The plan was not and will not be committed. A later attempt may succeed, unless it was
         * refused.
         *
         * @param cause the cause, for people
         */
        record Failed(String cause) implements Committed {}

        /**
         * The plan may be committed, now or later: a write was ambiguous, or a manifest of this
         * commit exists and readers do not reach it.
         *
         * @param cause the cause, for people
         */
        record Unknown(String cause) implements Committed {}
    }

    /** Returns the newest manifest; {@code known} is one that was read before. */
    public Newest newest(PackManifest known) {
        try {
            return new Newest.Found(chain.newest(known));
        } catch (UnknownStateException e) {
            return new Newest.Unavailable(e.failure().toString());
        }
    }

    /** Returns true if new readers come to {@code known}. */
    boolean isNewest(PackManifest known) throws UnknownStateException {
        return chain.isNewest(known);
    }

    /**
     * Makes the hint name {@code newest}, which was just confirmed, as far as possible. Sends one
     * request if it does already.
     *
     * @return false if lookups do not reach {@code newest}, or the bucket does not report it
     */
    public boolean repairHint(PackManifest newest) {
        try {
            return newest.number() == 0
                    || chain.hint()
                            .filter(hint -> hint.number() == newest.number())
                            .isPresent()
                    || advanceHint(newest, Origin.EARLIER) == Reachability.REACHED;
        } catch (UnknownStateException e) {
            return false;
        }
    }

    /**
     * Returns the newest manifest for a writer: a wrong response is a failure, and never yields an
     * older manifest.
     */
    public Newest confirmed() {
        return confirmed(DamagePolicy.SKIP);
    }

    /**
     * Returns the newest manifest for a remover: confirmed, undamaged in the bucket, and reached by
     * lookups.
     */
    Newest confirmedWhole() {
        return confirmed(DamagePolicy.FAIL);
    }

    /** The handling of a newest manifest that is damaged in the bucket. */
    private enum DamagePolicy {
        SKIP,
        FAIL
    }

    private Newest confirmed(DamagePolicy policy) {
        try {
            Optional<PackManifestChain.Hint> hint = chain.hint();
            PackManifestChain.Confirmed newest = chain.confirmed(
                    PackManifest.NONE, hint.orElse(new PackManifestChain.Hint(0, "", 0)));
            long number = newest.manifest().number();
            if (policy == DamagePolicy.SKIP) {
                return new Newest.Found(newest.manifest());
            }
            if (number > 0 && (hint.isEmpty() || !chain.leadsTo(number, hint.get()))) {
                return new Newest.Unavailable("the hint does not lead to manifest " + number);
            }
            return newest.isWhole()
                    ? new Newest.Found(newest.manifest())
                    : new Newest.Unavailable("manifest " + number + " is damaged");
        } catch (UnknownStateException e) {
            return new Newest.Unavailable(e.failure().toString());
        }
    }

    /**
     * Commits the result of {@code plan} for the newest manifest. The plan is made again whenever
     * another writer was faster.
     *
     * @param plan returns the next manifest, or empty if nothing is to be changed
     */
    public Committed commit(Function<PackManifest, Optional<PackManifest>> plan) {
        return new Committer(plan).commit();
    }

    /** Executor of one plan. For one thread and one use. */
    private final class Committer {
        private final Function<PackManifest, Optional<PackManifest>> plan;
        private PackManifestChain.Hint hint = new PackManifestChain.Hint(0, "", 0);
        private PackManifest base = PackManifest.NONE;
        private @Nullable PackManifest pending; // sent, with unknown outcome
        // a sent manifest exists, or may come to exist, and readers do not reach it
        private boolean hasUnreachable;
        private String pendingCause = "";

        Committer(Function<PackManifest, Optional<PackManifest>> plan) {
            this.plan = plan;
        }

        Committed commit() {
            try {
                hint = createdHint();
                for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
                    Optional<Committed> end = attempt(attempt);
                    if (end.isPresent()) {
                        return end.get();
                    }
                }
                return failed(
                        pending == null
                                ? "other writers were faster " + MAX_ATTEMPTS + " times"
                                : pendingCause);
            } catch (UnknownStateException e) {
                return e.mayHaveLanded()
                        ? new Committed.Unknown(e.failure().toString())
                        : failed(e.failure().toString());
            }
        }

        /**
         * Plans, and creates the planned manifest; returns empty if the plan must be made again.
         */
        private Optional<Committed> attempt(int attempt) throws UnknownStateException {
            base = chain.confirmed(base, hint).manifest();
            Optional<PackManifest> landed = landed();
            if (landed.isPresent()) {
                return settle(landed.get(), Origin.EARLIER);
            }
            boolean isDetached = isDetached();
            Optional<PackManifest> next = plan.apply(isDetached ? detachedBase(base, hint) : base);
            if (next.isEmpty()) {
                return isDetached && base.unpackedEntries() == PackManifest.UnpackedEntries.NONE
                        ? unsealed()
                        : nothingPlanned();
            }
            if (!next.get().isReadable()) {
                return Optional.of(failed("the packs of this target would have more than "
                        + PackManifest.MAX_ENTRIES + " entries, or their manifest" + " more than "
                        + PackManifest.MAX_BYTES
                        + " bytes: compact them, or remove what is not needed"));
            }
            Optional<Committed> end = created(next.get(), isDetached);
            if (end.isEmpty()) {
                pause.accept(Duration.ofNanos(1
                        + random.nextLong(
                                FIRST_PAUSE.toNanos() << Math.min(attempt, LONGEST_PAUSE_SHIFT))));
            }
            return end;
        }

        /**
         * Returns the pending manifest if it proves to be committed. If its number is taken by
         * another, it is no longer pending.
         */
        private Optional<PackManifest> landed() throws UnknownStateException {
            if (pending == null || base.number() < pending.number()) {
                return Optional.empty();
            }
            PackManifest sent = pending;
            pending = null;
            return switch (outcome(sent, base)) {
                case COMMITTED -> Optional.of(sent);
                case FOREIGN -> Optional.empty();
                case UNREACHABLE -> {
                    hasUnreachable = true;
                    yield Optional.empty();
                }
            };
        }

        /**
         * Returns true if the hint does not lead to the newest manifest, or was created anew after
         * that one was sealed.
         */
        private boolean isDetached() throws UnknownStateException {
            boolean isHintRecreated = hint.number() == 0
                    && base.unpackedEntries() == PackManifest.UnpackedEntries.NONE;
            return base.number() == 0 || isHintRecreated || !chain.leadsTo(base.number(), hint);
        }

        /**
         * Removes the seal from a manifest that only a listing leads to, before a process relies on
         * it.
         */
        private Optional<Committed> unsealed() throws UnknownStateException {
            PackManifest unsealed =
                    detachedBase(base, hint).with(PackManifest.UnpackedEntries.POSSIBLE);
            if (create(unsealed) instanceof Creation.Own) {
                advanceHint(unsealed, Origin.JUST_CREATED);
            }
            restart();
            return Optional.empty();
        }

        /**
         * Ends a commit with nothing to change. The caller relies on the newest manifest, so
         * readers must reach it.
         */
        private Optional<Committed> nothingPlanned() throws UnknownStateException {
            if (mayExist()) { // a sent manifest may overtake the newest one
                return Optional.of(
                        new Committed.Unknown(pending == null ? UNREACHABLE : pendingCause));
            }
            if (hint.number() == base.number() || base.number() == 0) {
                return Optional.of(new Committed.Overtaken());
            }
            return switch (advanceHint(base, Origin.EARLIER)) {
                case REACHED -> Optional.of(new Committed.Overtaken());
                case UNKNOWN -> Optional.of(new Committed.Failed(HINT_UNREADABLE));
                case NOT_REACHED -> {
                    restart();
                    yield Optional.empty();
                }
            };
        }

        private Optional<Committed> created(PackManifest next, boolean isDetached)
                throws UnknownStateException {
            switch (create(next)) {
                case Creation.Own _ -> {
                    return settle(next, Origin.JUST_CREATED);
                }
                case Creation.Foreign _ -> {
                    pendingCause = "";
                    // search again: numbers in between may be missing
                    base = isDetached ? PackManifest.NONE : base;
                }
                case Creation.Undecided(String cause) -> {
                    // each number has one manifest
                    hasUnreachable |= pending != null && pending.number() != next.number();
                    pending = next;
                    pendingCause = cause;
                }
            }
            return Optional.empty();
        }

        /** Ends a commit whose manifest exists: readers reach it, or the plan is made again. */
        private Optional<Committed> settle(PackManifest own, Origin origin)
                throws UnknownStateException {
            hasUnreachable = true; // until readers are known to reach it
            return switch (advanceHint(own, origin)) {
                case REACHED -> Optional.of(new Committed.Done(own));
                case UNKNOWN -> Optional.of(new Committed.Unknown(HINT_UNREADABLE));
                // manifests were removed: the chain was restarted meanwhile, or has a gap
                case NOT_REACHED -> {
                    restart();
                    yield Optional.empty();
                }
            };
        }

        private void restart() throws UnknownStateException {
            hint = createdHint();
            base = PackManifest.NONE;
        }

        /** Returns true if a manifest that this commit sent exists, or may come to exist. */
        private boolean mayExist() {
            return pending != null || hasUnreachable;
        }

        private Committed failed(String cause) {
            return mayExist() ? new Committed.Unknown(cause) : new Committed.Failed(cause);
        }
    }

    /**
     * Returns the base of a plan if the hint does not lead to a manifest: the one that a listing
     * leads to, or none. It gets the number that the hint names, if that is larger, since numbers
     * are not reused. Unpacked entries are possible whatever the manifest says, since lookups did
     * not reach it.
     */
    private static PackManifest detachedBase(PackManifest base, PackManifestChain.Hint hint) {
        long number =
                base.number() == 0 ? hint.first() - 1 : Math.max(base.number(), hint.number());
        return new PackManifest(
                number, PackManifest.UnpackedEntries.POSSIBLE, base.packs(), base.retired());
    }

    /** The outcome of one attempt to create a manifest. */
    private sealed interface Creation {
        record Own() implements Creation {}

        /** Another writer has created that number. */
        record Foreign() implements Creation {}

        /** Not known yet: the bucket shows no sound manifest of that number. */
        record Undecided(String cause) implements Creation {}
    }

    private Creation create(PackManifest next) throws UnknownStateException {
        byte[] body = next.encode();
        ObjectMarks marks = new ObjectMarks(
                WriteAttemptId.random(random).hex(), Sha256.of(body).hex());
        String key = keys.manifest(next.number());
        WriteAttempts attempts = new WriteAttempts(PackManifestLog::verdict);
        return switch (attempts.send(() -> store.putIfAbsent(key, body, marks), pause::accept)) {
            case WriteVerdict.Own _ -> new Creation.Own();
            case WriteVerdict.Inspect _ ->
                examine(
                        key,
                        body,
                        attempts.unanswered(),
                        attempts.last() instanceof WriteResult.PreconditionFailed
                                ? "the server reports that " + key
                                        + " exists, but does not return it"
                                : "a conflict at " + key);
            case WriteVerdict.Refused(StoreFailure failure) -> throw notCreated(failure, attempts);
            case WriteVerdict.GivenUp(StoreFailure failure) -> throw notCreated(failure, attempts);
        };
    }

    /** A conflict after an unanswered attempt may be with that attempt, so another one follows. */
    private static WriteVerdict verdict(WriteResult response, WriteAttempts soFar) {
        return response instanceof WriteResult.Conflict && soFar.unanswered().isEmpty()
                ? new WriteVerdict.Inspect()
                : RETRIES.verdict(response, soFar);
    }

    private static UnknownStateException notCreated(StoreFailure failure, WriteAttempts attempts) {
        return attempts.unanswered().isPresent()
                ? UnknownStateException.afterWrite(failure)
                : new UnknownStateException(failure);
    }

    /**
     * Determines whose manifest exists. If its bytes are those that were sent, the plan is
     * committed, by whichever writer.
     */
    private Creation examine(
            String key, byte[] body, Optional<StoreFailure> unanswered, String cause)
            throws UnknownStateException {
        switch (store.get(key, PackManifest.MAX_BYTES)) {
            case GetResult.Found found -> {
                byte[] there = found.bytes().toArray(ValueLayout.JAVA_BYTE);
                if (Arrays.equals(there, body)) {
                    return new Creation.Own();
                }
                return PackManifest.decode(there) instanceof PackManifest.Read.Ok
                        ? new Creation.Foreign()
                        : new Creation.Undecided(cause);
            }
            case GetResult.TooLarge _ -> {
                return new Creation.Foreign();
            }
            case GetResult.Absent _ -> {
                return absent(unanswered, cause);
            }
            case GetResult.Unavailable unavailable
            when AbsenceVerifier.isAbsent(unavailable.failure(), key, store, keys) -> {
                return absent(unanswered, cause);
            }
            case GetResult.Unavailable unavailable ->
                throw UnknownStateException.afterWrite(unavailable.failure());
        }
    }

    private static Creation absent(Optional<StoreFailure> unanswered, String cause)
            throws UnknownStateException {
        if (unanswered.isPresent()) {
            throw UnknownStateException.afterWrite(unanswered.get()); // it may land later
        }
        return new Creation.Undecided(cause);
    }

    /** The outcome of an ambiguous write whose number is no longer free. */
    private enum Outcome {
        COMMITTED,
        /** The manifest of that number is another writer's. */
        FOREIGN,
        /** It exists, or may come to exist, and the newest manifest is not built on it. */
        UNREACHABLE
    }

    /** Returns the outcome of a sent manifest; {@code newest} has the same or a later number. */
    private Outcome outcome(PackManifest sent, PackManifest newest) throws UnknownStateException {
        byte[] body = sent.encode();
        if (newest.number() == sent.number()) {
            return Arrays.equals(newest.encode(), body) ? Outcome.COMMITTED : Outcome.FOREIGN;
        }
        return switch (examine(keys.manifest(sent.number()), body, Optional.empty(), "")) {
            case Creation.Own _ ->
                chain.isContiguous(sent.number(), newest.number())
                        ? Outcome.COMMITTED
                        : Outcome.UNREACHABLE;
            case Creation.Foreign _ -> Outcome.FOREIGN;
            case Creation.Undecided _ -> Outcome.UNREACHABLE;
        };
    }

    /**
     * Returns the hint with the time at which it was written, and creates it if there is none. An
     * unusable response is requested again: a bucket without a hint has no manifests, and the first
     * manifest gets its number from that time.
     */
    private PackManifestChain.Hint createdHint() throws UnknownStateException {
        StoreFailure failure = StoreFailure.of(
                StoreFailure.Kind.SERVER,
                "the server reports that " + keys.hint() + " exists, but does not return it");
        int undated = 0;
        for (int attempt = 0; attempt <= MAX_HINT_ATTEMPTS; attempt++) {
            Optional<PackManifestChain.Hint> hint = Optional.empty();
            try {
                hint = chain.hint();
                if (hint.filter(there -> there.number() > 0 || there.writtenMillis() > 0)
                        .isPresent()) {
                    return hint.get();
                }
                if (hint.isPresent() && ++undated > MAX_UNDATED) {
                    return hint.get(); // the server sends no time
                }
            } catch (UnknownStateException e) {
                // a 403 may stand for absence, and creating the hint does no harm
                failure = e.failure();
            }
            if (hint.isEmpty() && attempt < MAX_HINT_ATTEMPTS) {
                switch (store.putIfAbsent(
                        keys.hint(), PackManifestChain.hintText(0), ObjectMarks.NONE)) {
                    case WriteResult.Done _ -> {
                        continue;
                    }
                    case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> {}
                    case WriteResult.Unknown unanswered -> failure = unanswered.failure();
                    case WriteResult.NotAllowed refused ->
                        throw new UnknownStateException(refused.failure());
                    case WriteResult.NotSent unsent ->
                        throw new UnknownStateException(unsent.failure());
                }
            }
            pause.accept(FIRST_PAUSE.multipliedBy(attempt + 1L));
        }
        throw new UnknownStateException(failure);
    }

    /** Whether a process that starts anew reaches a manifest. */
    private enum Reachability {
        REACHED,
        NOT_REACHED,
        UNKNOWN
    }

    /** Since when a manifest is known to exist. */
    private enum Origin {
        JUST_CREATED,
        EARLIER
    }

    /**
     * Determines whether a process that starts anew reaches the manifest, or a later one that was
     * built on it. Advances the hint as far as possible: one that stays behind costs requests.
     *
     * <p>A hint to a newer chain is left as it is. A server without conditional replacement gets a
     * plain write, which may set the hint back a little. A hint that is never written expires, and
     * readers find nothing.
     */
    private Reachability advanceHint(PackManifest manifest, Origin origin) {
        byte[] text = PackManifestChain.hintText(manifest.number());
        for (int attempt = 1; attempt <= MAX_HINT_ATTEMPTS; attempt++) {
            try {
                Optional<PackManifestChain.Hint> now = chain.hint();
                Route route = route(manifest, origin, now);
                if (route == Route.NONE) {
                    return Reachability.NOT_REACHED;
                }
                boolean isAhead = route == Route.HINT
                        && now.isPresent()
                        && now.get().number() >= manifest.number();
                if (isAhead || isHintWritten(now, text)) {
                    return Reachability.REACHED;
                }
            } catch (UnknownStateException e) {
                // retried
            }
            pause.accept(FIRST_PAUSE.multipliedBy(attempt));
        }
        return reachability(manifest, origin);
    }

    /** Determines the same without a write. The hint may be gone since the last attempt. */
    private Reachability reachability(PackManifest manifest, Origin origin) {
        try {
            return switch (route(manifest, origin, chain.hint())) {
                case HINT -> Reachability.REACHED;
                case NONE -> Reachability.NOT_REACHED;
                case LISTING -> Reachability.UNKNOWN;
            };
        } catch (UnknownStateException e) {
            return Reachability.UNKNOWN;
        }
    }

    /** How a process that starts anew reaches a manifest. */
    private enum Route {
        HINT,
        LISTING,
        NONE
    }

    /**
     * Returns how a new process reaches the manifest. Without a usable hint it lists; if the
     * listing leads to the manifest, the hint may be written.
     */
    private Route route(PackManifest manifest, Origin origin, Optional<PackManifestChain.Hint> hint)
            throws UnknownStateException {
        long number = manifest.number();
        if (origin == Origin.JUST_CREATED && chain.isHidden(manifest)) {
            return Route.NONE;
        }
        if ((origin == Origin.EARLIER || hint.isEmpty()) && !chain.exists(number)) {
            return Route.NONE; // a removed manifest is not the newest
        }
        if (hint.isPresent() && chain.leadsTo(number, hint.get())) {
            return Route.HINT;
        }
        if (hint.isPresent()
                && chain.leadsAnywhere(hint.get())
                && !chain.isBuiltOn(manifest, hint.get())) {
            return Route.NONE;
        }
        if (manifest.unpackedEntries() == PackManifest.UnpackedEntries.NONE) {
            // unpacked entries may have been stored while lookups did not reach it
            return Route.NONE;
        }
        long newest = chain.newestNumber(hint.orElse(new PackManifestChain.Hint(0, "", 0)));
        return newest == number || (newest > number && chain.isContiguous(number, newest))
                ? Route.LISTING
                : Route.NONE;
    }

    private boolean isHintWritten(Optional<PackManifestChain.Hint> before, byte[] text) {
        if (before.isEmpty()) {
            return store.putIfAbsent(keys.hint(), text, ObjectMarks.NONE)
                    instanceof WriteResult.Done;
        }
        if (before.get().etag().isEmpty()) {
            return store.put(keys.hint(), text, ObjectMarks.NONE) instanceof WriteResult.Done;
        }
        return switch (store.replaceIfMatch(
                keys.hint(), before.get().etag(), text, ObjectMarks.NONE)) {
            case WriteResult.Done _ -> true;
            case WriteResult.NotAllowed refused
            when refused.failure().kind() == StoreFailure.Kind.NOT_SUPPORTED ->
                store.put(keys.hint(), text, ObjectMarks.NONE) instanceof WriteResult.Done;
            case WriteResult.NotAllowed _,
                    WriteResult.PreconditionFailed _,
                    WriteResult.Conflict _,
                    WriteResult.NotSent _,
                    WriteResult.Unknown _ -> false;
        };
    }
}
