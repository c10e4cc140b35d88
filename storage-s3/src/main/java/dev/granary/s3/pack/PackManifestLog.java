package dev.granary.s3.pack;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Sha256;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
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
 * <p>They are numbered without gaps, each is whole, and none is ever changed: to create the next number is to commit, and of any number
 * of writers one creates it. The others plan again on top of it. A hint says which was the newest some time ago; it is created before
 * the first manifest, so that a bucket without it has none, and is otherwise only a place to start searching from. The time at which it was created
 * gives the first number. So numbers never come again, even if all of this was removed: a writer that stood still meanwhile may still create the manifest
 * after the one that it knew, but no reader comes to it, and the writer finds that out before it says that anything is committed.
 *
 * <p>A commit builds on nothing but a {@linkplain PackManifestChain#confirmed confirmed} manifest, and its own manifest is recognised by its bytes: metadata
 * may be stripped on the way. An answer that leaves open whether a manifest landed stays open until the bucket shows the manifest, or another one.
 */
public final class PackManifestLog {
    private static final int MAX_ATTEMPTS = 20;
    private static final int MAX_UNKNOWNS = 2;
    private static final int MAX_HINT_ATTEMPTS = 3;
    private static final int MAX_UNDATED = 1;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final int LONGEST_PAUSE_SHIFT = 5;
    private static final String HINT_UNREADABLE = "whether readers come to the newest manifest: the hint cannot be read";
    private static final String UNREACHABLE = "a manifest was written that readers do not reach now";

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackManifestChain chain;
    private final RandomGenerator random;
    private final Consumer<Duration> pause;

    /**
     * The manifests under {@code keys}.
     *
     * @param pause waits that long before a request is tried again
     */
    public PackManifestLog(ObjectStore store, TargetLayout keys, RandomGenerator random, Consumer<Duration> pause) {
        this.store = store;
        this.keys = keys;
        this.chain = new PackManifestChain(store, keys, pause);
        this.random = random;
        this.pause = pause;
    }

    /** What the bucket says of the newest manifest. */
    public sealed interface Newest {
        /**
         * This one; {@link PackManifest#NONE} where there is none.
         *
         * @param manifest the manifest
         */
        record Found(PackManifest manifest) implements Newest {}

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
        record Done(PackManifest manifest) implements Committed {}

        /** The planner wants nothing any more, in view of the newest manifest, and no manifest of this commit is in the bucket or may come to be. */
        record Overtaken() implements Committed {}

        /**
         * Not carried out, now or later; a later try may succeed, unless it was refused.
         *
         * @param cause why, for people
         */
        record Failed(String cause) implements Committed {}

        /**
         * It may be carried out or not, now or later: the answer never came, or a manifest of this commit is there and readers did not come to it.
         *
         * @param cause why, for people
         */
        record Unknown(String cause) implements Committed {}
    }

    /** The newest manifest, where {@code known} is one that was read before. */
    public Newest newest(PackManifest known) {
        try {
            return new Newest.Found(chain.newest(known));
        } catch (UnknownStateException e) {
            return new Newest.Unavailable(e.failure().toString());
        }
    }

    /** True if readers who start anew come to {@code known}; empty if the bucket does not say. */
    Optional<Boolean> isNewest(PackManifest known) {
        try {
            return Optional.of(chain.isNewest(known));
        } catch (UnknownStateException e) {
            return Optional.empty();
        }
    }

    /**
     * Has the hint name {@code newest}, which was confirmed a moment ago, as far as that is possible. Sends one request where it does.
     *
     * @return false if look-ups do not come to it, or nobody can say
     */
    public boolean repairHint(PackManifest newest) {
        try {
            return newest.number() == 0 || chain.hint().filter(hint -> hint.number() == newest.number()).isPresent()
                    || advanceHint(newest, Origin.EARLIER) == Reachability.REACHED;
        } catch (UnknownStateException e) {
            return false;
        }
    }

    /** The newest manifest as a writer must know it: one wrong answer is a failure, and never an older manifest. */
    public Newest confirmed() {
        return confirmed(DamagePolicy.SKIP);
    }

    /** The newest manifest as a remover must know it: confirmed, not damaged in the bucket either, and one to which look-ups come. */
    Newest confirmedWhole() {
        return confirmed(DamagePolicy.FAIL);
    }

    /** What to make of a newest manifest that is damaged in the bucket. */
    private enum DamagePolicy { SKIP, FAIL }

    private Newest confirmed(DamagePolicy policy) {
        try {
            Optional<PackManifestChain.Hint> hint = chain.hint();
            PackManifestChain.Confirmed newest = chain.confirmed(PackManifest.NONE, hint.orElse(new PackManifestChain.Hint(0, "", 0)));
            long number = newest.manifest().number();
            if (policy == DamagePolicy.SKIP) {
                return new Newest.Found(newest.manifest());
            }
            if (number > 0 && (hint.isEmpty() || !chain.leadsTo(number, hint.get()))) {
                return new Newest.Unavailable("the hint does not lead to manifest " + number);
            }
            return newest.isWhole() ? new Newest.Found(newest.manifest()) : new Newest.Unavailable("manifest " + number + " is damaged");
        } catch (UnknownStateException e) {
            return new Newest.Unavailable(e.failure().toString());
        }
    }

    /**
     * Commits what {@code plan} makes of the newest manifest; it is asked again whenever another writer was faster.
     *
     * @param plan gives the next manifest, or empty where there is nothing to do any more
     */
    public Committed commit(Function<PackManifest, Optional<PackManifest>> plan) {
        return new Committer(plan).commit();
    }

    /** Carries out one plan. For one thread and one use. */
    private final class Committer {
        private final Function<PackManifest, Optional<PackManifest>> plan;
        private PackManifestChain.Hint hint = new PackManifestChain.Hint(0, "", 0);
        private PackManifest base = PackManifest.NONE;
        private @Nullable PackManifest pending; // sent, and nobody can say yet whether it is committed
        private boolean hasUnreachable; // of those that were sent: there, or may come to be, and readers did not come to it
        private String cause = "";

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
                return failed(pending == null ? "other writers were faster " + MAX_ATTEMPTS + " times" : cause);
            } catch (UnknownStateException e) {
                return e.mayHaveLanded() ? new Committed.Unknown(e.failure().toString()) : failed(e.failure().toString());
            }
        }

        /** Plans, and creates what is planned; empty if the plan must be made again. */
        private Optional<Committed> attempt(int attempt) throws UnknownStateException {
            base = chain.confirmed(base, hint).manifest();
            Optional<PackManifest> landed = landed();
            if (landed.isPresent()) {
                return settle(landed.get(), Origin.EARLIER);
            }
            boolean isDetached = isDetached();
            Optional<PackManifest> next = plan.apply(isDetached ? detachedBase(base, hint) : base);
            if (next.isEmpty()) {
                return isDetached && base.unpackedEntries() == PackManifest.UnpackedEntries.NONE ? unsealed() : nothingPlanned();
            }
            if (!next.get().isReadable()) {
                return Optional.of(failed("the packs of this target would have more than " + PackManifest.MAX_ENTRIES + " entries, or their manifest"
                        + " more than " + PackManifest.MAX_BYTES + " bytes: compact them, or remove what is not needed"));
            }
            Optional<Committed> end = created(next.get(), isDetached);
            if (end.isEmpty()) {
                pause.accept(Duration.ofNanos(1 + random.nextLong(FIRST_PAUSE.toNanos() << Math.min(attempt, LONGEST_PAUSE_SHIFT))));
            }
            return end;
        }

        /** The manifest that was left open, if it turns out to be committed. It is not left open any more if its number is taken. */
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

        /** True if the hint does not lead to the newest manifest, or is not the one that was there when that was sealed. */
        private boolean isDetached() throws UnknownStateException {
            boolean isUnled = hint.number() == 0 && base.unpackedEntries() == PackManifest.UnpackedEntries.NONE;
            return base.number() == 0 || isUnled || !chain.leadsTo(base.number(), hint);
        }

        /** A sealed manifest to which only a listing leads: its seal is taken off before anybody relies on it. */
        private Optional<Committed> unsealed() throws UnknownStateException {
            PackManifest unsealed = detachedBase(base, hint).with(PackManifest.UnpackedEntries.POSSIBLE);
            if (create(unsealed) instanceof Creation.Own) {
                advanceHint(unsealed, Origin.JUST_CREATED);
            }
            restart();
            return Optional.empty();
        }

        /** Nothing is to be done any more. The caller relies on what is there: readers must come to it. */
        private Optional<Committed> nothingPlanned() throws UnknownStateException {
            if (mayExist()) { // what the newest manifest says may be overtaken by what was sent
                return Optional.of(new Committed.Unknown(pending == null ? UNREACHABLE : cause));
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

        private Optional<Committed> created(PackManifest next, boolean isDetached) throws UnknownStateException {
            switch (create(next)) {
                case Creation.Own _ -> {
                    return settle(next, Origin.JUST_CREATED);
                }
                case Creation.Foreign _ -> {
                    cause = "";
                    base = isDetached ? PackManifest.NONE : base; // searched anew: numbers between may be missing
                }
                case Creation.Undecided(String cause) -> {
                    hasUnreachable |= pending != null && pending.number() != next.number(); // one number has one manifest
                    pending = next;
                    cause = cause;
                }
            }
            return Optional.empty();
        }

        /** What a manifest of this commit that is there means: readers come to it, or the plan is made again. */
        private Optional<Committed> settle(PackManifest own, Origin origin) throws UnknownStateException {
            hasUnreachable = true; // until it is known that readers come to it
            return switch (advanceHint(own, origin)) {
                case REACHED -> Optional.of(new Committed.Done(own));
                case UNKNOWN -> Optional.of(new Committed.Unknown(HINT_UNREADABLE));
                case NOT_REACHED -> { // somebody removed manifests: the bucket was begun anew while this process stood still, or has a gap
                    restart();
                    yield Optional.empty();
                }
            };
        }

        private void restart() throws UnknownStateException {
            hint = createdHint();
            base = PackManifest.NONE;
        }

        /** True if a manifest that this commit has sent is in the bucket, or may come to be. */
        private boolean mayExist() {
            return pending != null || hasUnreachable;
        }

        private Committed failed(String cause) {
            return mayExist() ? new Committed.Unknown(cause) : new Committed.Failed(cause);
        }
    }

    /**
     * What to build on where the hint does not lead to a manifest: the one that a listing leads to, or none. It gets the number that the hint names, if that
     * is larger, since numbers do not come again. While look-ups did not come to it, entries may have been published alone whatever it says of them.
     */
    private static PackManifest detachedBase(PackManifest base, PackManifestChain.Hint hint) {
        long number = base.number() == 0 ? hint.first() - 1 : Math.max(base.number(), hint.number());
        return new PackManifest(number, PackManifest.UnpackedEntries.POSSIBLE, base.packs(), base.retired());
    }

    /** What became of one attempt to create a manifest. */
    private sealed interface Creation {
        record Own() implements Creation {}

        /** That number is somebody else's. */
        record Foreign() implements Creation {}

        /** Nobody can say yet; the bucket shows no manifest of that number, or none that is sound. */
        record Undecided(String cause) implements Creation {}
    }

    private Creation create(PackManifest next) throws UnknownStateException {
        byte[] body = next.encode();
        ObjectMarks marks = new ObjectMarks(WriteAttemptId.random(random).hex(), Sha256.of(body).hex());
        String key = keys.manifest(next.number());
        Optional<StoreFailure> unanswered = Optional.empty(); // why there is no answer to an attempt that may have landed, or still may
        for (int attempt = 1; ; attempt++) {
            switch (store.putIfAbsent(key, body, marks)) {
                case WriteResult.Done _ -> {
                    return new Creation.Own();
                }
                case WriteResult.PreconditionFailed _ -> { // a proxy may have sent it twice: then the object is ours
                    return examine(key, body, unanswered, "the server says that " + key + " is there, and does not show it");
                }
                case WriteResult.Conflict _ -> {
                    if (unanswered.isEmpty()) {
                        return examine(key, body, unanswered, "a conflict at " + key);
                    }
                    // else the conflict may be with the attempt before
                }
                case WriteResult.Unknown unknown -> unanswered = Optional.of(unknown.failure());
                case WriteResult.NotAllowed refused -> throw unanswered.isPresent() ? UnknownStateException.afterWrite(refused.failure()) : new UnknownStateException(refused.failure());
                case WriteResult.NotSent unsent -> throw unanswered.isPresent() ? UnknownStateException.afterWrite(unsent.failure()) : new UnknownStateException(unsent.failure());
            }
            if (attempt > MAX_UNKNOWNS) {
                return examine(key, body, unanswered, "a conflict at " + key);
            }
            pause.accept(FIRST_PAUSE.multipliedBy(attempt));
        }
    }

    /** Whose manifest is there. Its bytes tell: if they are those that were sent, the plan is carried out, whoever created it. */
    private Creation examine(String key, byte[] body, Optional<StoreFailure> unanswered, String cause) throws UnknownStateException {
        switch (store.get(key, PackManifest.MAX_BYTES)) {
            case GetResult.Found found -> {
                byte[] there = found.bytes().toArray(ValueLayout.JAVA_BYTE);
                if (Arrays.equals(there, body)) {
                    return new Creation.Own();
                }
                return PackManifest.decode(there) instanceof PackManifest.Read.Ok ? new Creation.Foreign() : new Creation.Undecided(cause);
            }
            case GetResult.TooLarge _ -> {
                return new Creation.Foreign();
            }
            case GetResult.Absent _ -> {
                return absent(unanswered, cause);
            }
            case GetResult.Unavailable unavailable when AbsenceVerifier.isAbsent(unavailable.failure(), key, store, keys) -> {
                return absent(unanswered, cause);
            }
            case GetResult.Unavailable unavailable -> throw UnknownStateException.afterWrite(unavailable.failure());
        }
    }

    private static Creation absent(Optional<StoreFailure> unanswered, String cause) throws UnknownStateException {
        if (unanswered.isPresent()) {
            throw UnknownStateException.afterWrite(unanswered.get()); // it may land later
        }
        return new Creation.Undecided(cause);
    }

    /** What became of a manifest that was sent without an answer, and whose number is not free any more. */
    private enum Outcome {
        COMMITTED,
        /** The manifest of that number is somebody else's. */
        FOREIGN,
        /** It is there, or may come to be, and the newest manifest is not built on it. */
        UNREACHABLE
    }

    /** What became of a manifest that was sent, where {@code newest} has the same number or a later one. */
    private Outcome outcome(PackManifest sent, PackManifest newest) throws UnknownStateException {
        byte[] body = sent.encode();
        if (newest.number() == sent.number()) {
            return Arrays.equals(newest.encode(), body) ? Outcome.COMMITTED : Outcome.FOREIGN;
        }
        return switch (examine(keys.manifest(sent.number()), body, Optional.empty(), "")) {
            case Creation.Own _ -> chain.isContiguous(sent.number(), newest.number()) ? Outcome.COMMITTED : Outcome.UNREACHABLE;
            case Creation.Foreign _ -> Outcome.FOREIGN;
            case Creation.Undecided _ -> Outcome.UNREACHABLE;
        };
    }

    /**
     * The hint, created if there is none, with the time at which it was written. An answer that says nothing is asked for again: a bucket without a hint
     * has no manifests, and the first manifest gets its number from that time.
     */
    private PackManifestChain.Hint createdHint() throws UnknownStateException {
        StoreFailure cause = StoreFailure.of(StoreFailure.Kind.SERVER, "the server says that " + keys.hint() + " is there, and does not show it");
        int undated = 0;
        for (int attempt = 0; attempt <= MAX_HINT_ATTEMPTS; attempt++) {
            Optional<PackManifestChain.Hint> hint = Optional.empty();
            try {
                hint = chain.hint();
                if (hint.filter(there -> there.number() > 0 || there.writtenMillis() > 0).isPresent()) {
                    return hint.get();
                }
                if (hint.isPresent() && ++undated > MAX_UNDATED) {
                    return hint.get(); // a server that tells no time
                }
            } catch (UnknownStateException e) {
                cause = e.failure(); // 403 may stand for an absent one, and creating it does no harm in any case
            }
            if (hint.isEmpty() && attempt < MAX_HINT_ATTEMPTS) {
                switch (store.putIfAbsent(keys.hint(), PackManifestChain.hintText(0), ObjectMarks.NONE)) {
                    case WriteResult.Done _ -> {
                        continue;
                    }
                    case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> {}
                    case WriteResult.Unknown unanswered -> cause = unanswered.failure();
                    case WriteResult.NotAllowed refused -> throw new UnknownStateException(refused.failure());
                    case WriteResult.NotSent unsent -> throw new UnknownStateException(unsent.failure());
                }
            }
            pause.accept(FIRST_PAUSE.multipliedBy(attempt + 1L));
        }
        throw new UnknownStateException(cause);
    }

    /** Whether a process that knows nothing comes to a manifest. */
    private enum Reachability { REACHED, NOT_REACHED, UNKNOWN }

    /** Since when a manifest is known to be there. */
    private enum Origin { JUST_CREATED, EARLIER }

    /**
     * Finds out whether a process that knows nothing comes to the manifest, or a later one that was built on it, and advances the hint, as
     * far as that is possible: one that stays behind costs requests.
     *
     * <p>A hint of other manifests is left as it is: they began after these were removed. A server that replaces no versions gets a plain write, which may
     * take the hint back a little; but a hint that is never written expires, and with it what readers find.
     */
    private Reachability advanceHint(PackManifest manifest, Origin origin) {
        byte[] text = PackManifestChain.hintText(manifest.number());
        Reachability reachability = Reachability.UNKNOWN;
        for (int attempt = 1; attempt <= MAX_HINT_ATTEMPTS; attempt++) {
            reachability = Reachability.UNKNOWN; // the hint may be gone since the last attempt
            try {
                Optional<PackManifestChain.Hint> now = chain.hint();
                Route route = route(manifest, origin, now);
                if (route == Route.NONE) {
                    return Reachability.NOT_REACHED;
                }
                boolean isAhead = route == Route.HINT && now.isPresent() && now.get().number() >= manifest.number();
                if (isAhead || isHintWritten(now, text)) {
                    return Reachability.REACHED;
                }
                reachability = route == Route.HINT ? Reachability.REACHED : Reachability.UNKNOWN;
            } catch (UnknownStateException e) {
                // asked again
            }
            pause.accept(FIRST_PAUSE.multipliedBy(attempt));
        }
        return reachability;
    }

    /** How a process that knows nothing comes to a manifest. */
    private enum Route { HINT, LISTING, NONE }

    /** A hint that is not there, or leads nowhere, makes it list; if that leads to the manifest, the hint may be written. */
    private Route route(PackManifest manifest, Origin origin, Optional<PackManifestChain.Hint> hint) throws UnknownStateException {
        long number = manifest.number();
        if (origin == Origin.JUST_CREATED && chain.isHidden(manifest)) {
            return Route.NONE;
        }
        if ((origin == Origin.EARLIER || hint.isEmpty()) && !chain.exists(number)) {
            return Route.NONE; // what is gone is nobody's newest
        }
        if (hint.isPresent() && chain.leadsTo(number, hint.get())) {
            return Route.HINT;
        }
        if (hint.isPresent() && chain.leadsAnywhere(hint.get()) && !chain.isBuiltOn(manifest, hint.get())) {
            return Route.NONE;
        }
        if (manifest.unpackedEntries() == PackManifest.UnpackedEntries.NONE) {
            return Route.NONE; // while look-ups did not come to it, entries may have been published alone
        }
        long newest = chain.newestNumber(hint.orElse(new PackManifestChain.Hint(0, "", 0)));
        return newest == number || (newest > number && chain.isContiguous(number, newest)) ? Route.LISTING : Route.NONE;
    }

    private boolean isHintWritten(Optional<PackManifestChain.Hint> before, byte[] text) {
        if (before.isEmpty()) {
            return store.putIfAbsent(keys.hint(), text, ObjectMarks.NONE) instanceof WriteResult.Done;
        }
        if (before.get().etag().isEmpty()) {
            return store.put(keys.hint(), text, ObjectMarks.NONE) instanceof WriteResult.Done;
        }
        return switch (store.replaceIfMatch(keys.hint(), before.get().etag(), text, ObjectMarks.NONE)) {
            case WriteResult.Done _ -> true;
            case WriteResult.NotAllowed refused when refused.failure().kind() == StoreFailure.Kind.NOT_SUPPORTED ->
                store.put(keys.hint(), text, ObjectMarks.NONE) instanceof WriteResult.Done;
            case WriteResult.NotAllowed _, WriteResult.PreconditionFailed _, WriteResult.Conflict _, WriteResult.NotSent _, WriteResult.Unknown _ -> false;
        };
    }
}
