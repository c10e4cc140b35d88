package dev.granary.s3.pack;

import dev.granary.cache.format.WriteAttemptId;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.Pack;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.AbsenceVerifier;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.s3.write.RetryPolicy;
import dev.granary.s3.write.WriteAttempts;
import dev.granary.s3.write.WriteVerdict;

import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/**
 * Writer of packs into the bucket. A pack is written before a manifest names it; one that is never
 * named is an orphan. Thread-safe.
 */
public final class PackWriter {
    private static final int MAX_ATTEMPTS = 3;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
    private static final RetryPolicy RETRIES = RetryPolicy.upTo(MAX_ATTEMPTS, FIRST_PAUSE);

    private final ObjectStore store;
    private final RandomGenerator random;
    private final Consumer<Duration> pause;

    public PackWriter(ObjectStore store, RandomGenerator random, Consumer<Duration> pause) {
        this.store = store;
        this.random = random;
        this.pause = pause;
    }

    /** The outcome of writing a pack. */
    public sealed interface Written {
        /** The pack is in the bucket. */
        record Done() implements Written {}

        /** The pack is not in the bucket, or its state is unknown. */
        record Failed(StoreFailure failure) implements Written {}
    }

    /**
     * Writes a pack. No other process writes one of that name, so an existing one is this pack,
     * from a request whose response was lost.
     */
    public Written write(Pack pack, TargetLayout keys) {
        ObjectMarks marks = new ObjectMarks(
                WriteAttemptId.random(random).hex(), pack.info().name().hex());
        String key = keys.pack(pack.info().name());
        WriteAttempts attempts = new WriteAttempts(RETRIES);
        while (true) {
            switch (attempts.send(
                    () -> store.putIfAbsent(key, pack.body(), marks), pause::accept)) {
                case WriteVerdict.Own _ -> {
                    return new Written.Done();
                }
                case WriteVerdict.Refused(StoreFailure failure) -> {
                    return new Written.Failed(failure);
                }
                case WriteVerdict.GivenUp(StoreFailure failure) -> {
                    return new Written.Failed(failure);
                }
                // verified, since the pack may replace others
                case WriteVerdict.Inspect _ -> {
                    if (isThere(key, pack)) {
                        return new Written.Done();
                    } else if (attempts.sent() == MAX_ATTEMPTS) {
                        return new Written.Failed(failure(attempts));
                    }
                }
            }
            // the bucket does not have the pack, whatever the response was: send it again
            pause.accept(FIRST_PAUSE.multipliedBy(attempts.sent()));
        }
    }

    private static StoreFailure failure(WriteAttempts attempts) {
        return switch (attempts.last()) {
            case WriteResult.Unknown(StoreFailure failure) -> failure;
            case WriteResult.Conflict _ ->
                StoreFailure.of(
                        StoreFailure.Kind.SERVER,
                        "a conflict at the last of " + attempts.sent() + " attempts");
            case WriteResult.PreconditionFailed _,
                    WriteResult.Done _,
                    WriteResult.NotAllowed _,
                    WriteResult.NotSent _ ->
                StoreFailure.of(
                        StoreFailure.Kind.SERVER,
                        "the server reports that the pack exists, but does not find it");
        };
    }

    private boolean isThere(String key, Pack pack) {
        return store.head(key) instanceof HeadResult.Found found
                && found.bytes() == pack.info().bytes();
    }

    /** The state of a pack that a manifest names or is about to name. */
    public sealed interface PackState {
        /** It exists, and only processes that have read that manifest may remove it. */
        record Lasting() implements PackState {}

        /**
         * It exists, but was too old when the manifest named it, since this process was suspended.
         * Another process may be about to remove it.
         */
        record Late() implements PackState {}

        /** It does not exist. */
        record Gone() implements PackState {}

        /** The bucket did not report it. */
        record Unknown(StoreFailure failure) implements PackState {}
    }

    /**
     * Returns the state of a pack before its commit. If the server sends no time, the pack never
     * counts as old, for removers as well.
     */
    public PackState stateBeforeCommit(PackInfo pack, TargetLayout keys) {
        return state(pack, keys, _ -> false);
    }

    /**
     * Returns the state of a pack after the commit of the manifest of that number, which names it.
     * The age of the pack at the commit decides, so that a later suspension of this process does no
     * harm.
     */
    public PackState stateAfterCommit(PackInfo pack, TargetLayout keys, long number) {
        return state(
                pack,
                keys,
                packDates -> store.head(keys.manifest(number)) instanceof HeadResult.Found manifest
                        && isInTime(packDates, manifest.dates()));
    }

    private static boolean isInTime(ServerTimestamps pack, ServerTimestamps manifest) {
        return pack.lastModifiedMillis() > 0
                && manifest.lastModifiedMillis() > 0
                && manifest.lastModifiedMillis() - pack.lastModifiedMillis()
                        < BucketRemover.LONGEST_COMMIT.toMillis();
    }

    private PackState state(
            PackInfo pack, TargetLayout keys, Predicate<ServerTimestamps> wasInTime) {
        return switch (store.head(keys.pack(pack.name()))) {
            case HeadResult.Found found when found.bytes() != pack.bytes() -> new PackState.Gone();
            case HeadResult.Found found ->
                !BucketRemover.isOlder(found.dates(), BucketRemover.LONGEST_COMMIT)
                                || wasInTime.test(found.dates())
                        ? new PackState.Lasting()
                        : new PackState.Late();
            case HeadResult.Absent _ -> new PackState.Gone();
            case HeadResult.Unavailable unavailable
            when AbsenceVerifier.isAbsent(
                    unavailable.failure(), keys.pack(pack.name()), store, keys) ->
                new PackState.Gone();
            case HeadResult.Unavailable unavailable -> new PackState.Unknown(unavailable.failure());
        };
    }
}
