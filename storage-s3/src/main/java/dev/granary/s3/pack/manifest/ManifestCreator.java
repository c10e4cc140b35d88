package dev.granary.s3.pack.manifest;

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

import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * Creator of the next manifest of one target, which recognises its own manifest by its bytes, since
 * metadata may be stripped. Thread-safe.
 */
final class ManifestCreator {
    private static final RetryPolicy RETRIES = RetryPolicy.upTo(3, Duration.ofMillis(50));

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackManifestChain chain;
    private final RandomGenerator random;
    private final Consumer<Duration> pause;

    ManifestCreator(
            ObjectStore store,
            TargetLayout keys,
            PackManifestChain chain,
            RandomGenerator random,
            Consumer<Duration> pause) {
        this.store = store;
        this.keys = keys;
        this.chain = chain;
        this.random = random;
        this.pause = pause;
    }

    /** The outcome of one attempt to create a manifest. */
    sealed interface Creation {
        /** This writer has created the manifest. */
        record Own() implements Creation {}

        /** Another writer has created that number. */
        record Foreign() implements Creation {}

        /** Not known yet: the bucket shows no sound manifest of that number. */
        record Undecided(String cause) implements Creation {}
    }

    Creation create(PackManifest next) throws UnknownStateException {
        byte[] body = next.encode();
        ObjectMarks marks = new ObjectMarks(
                WriteAttemptId.random(random).hex(), Sha256.of(body).hex());
        String key = keys.manifest(next.number());
        WriteAttempts attempts = new WriteAttempts(ManifestCreator::verdict);
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
    enum Outcome {
        COMMITTED,
        /** The manifest of that number is another writer's. */
        FOREIGN,
        /** It exists, or may come to exist, and the newest manifest is not built on it. */
        UNREACHABLE
    }

    /** Returns the outcome of a sent manifest; {@code newest} has the same or a later number. */
    Outcome outcome(PackManifest sent, PackManifest newest) throws UnknownStateException {
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
}
