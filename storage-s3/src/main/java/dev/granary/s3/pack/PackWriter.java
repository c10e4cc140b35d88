package dev.granary.s3.pack;

import dev.granary.cache.format.WriteAttemptId;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/**
 * Puts packs into the bucket. A pack is written before any manifest names it; one that no manifest comes to name is only bytes. Thread-safe.
 */
public final class PackWriter {
    private static final int MAX_ATTEMPTS = 3;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);

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
        /** It is there. */
        record Done() implements Written {}

        /** It is not, or nobody knows. */
        record Failed(StoreFailure failure) implements Written {}
    }

    /** Writes a pack. Nobody else writes one of that name, so one that is there already is this one, of a request whose answer was lost. */
    public Written write(Pack pack, TargetLayout keys) {
        ObjectMarks marks = new ObjectMarks(WriteAttemptId.random(random).hex(), pack.info().name().hex());
        String key = keys.pack(pack.info().name());
        for (int attempt = 1; ; attempt++) {
            switch (store.putIfAbsent(key, pack.body(), marks)) {
                case WriteResult.Done _ -> {
                    return new Written.Done();
                }
                case WriteResult.NotAllowed refused -> {
                    return new Written.Failed(refused.failure());
                }
                case WriteResult.NotSent unsent -> {
                    return new Written.Failed(unsent.failure());
                }
                case WriteResult.PreconditionFailed _ -> { // said to be there: packs take the place of others, so that is not just believed
                    if (isThere(key, pack)) {
                        return new Written.Done();
                    } else if (attempt == MAX_ATTEMPTS) {
                        return new Written.Failed(StoreFailure.of(StoreFailure.Kind.SERVER, "the server says that the pack is there, and does not find it"));
                    }
                }
                case WriteResult.Conflict _ -> {
                    if (attempt == MAX_ATTEMPTS) {
                        StoreFailure conflict = StoreFailure.of(StoreFailure.Kind.SERVER, "a conflict at the last of " + attempt + " attempts");
                        return isThere(key, pack) ? new Written.Done() : new Written.Failed(conflict);
                    }
                }
                case WriteResult.Unknown unanswered -> {
                    if (attempt == MAX_ATTEMPTS) {
                        return isThere(key, pack) ? new Written.Done() : new Written.Failed(unanswered.failure());
                    }
                }
            }
            pause.accept(FIRST_PAUSE.multipliedBy(attempt));
        }
    }

    private boolean isThere(String key, Pack pack) {
        return store.head(key) instanceof HeadResult.Found found && found.bytes() == pack.info().bytes();
    }

    /** Whether a pack may be relied on that a manifest is to name, or names. */
    public sealed interface PackState {
        /** It is there, and nobody removes it who has not seen that manifest. */
        record Lasting() implements PackState {}

        /** It is there, and was so old before a manifest named it that another process may just be removing it: this process stood still. */
        record Late() implements PackState {}

        /** It is not there. */
        record Gone() implements PackState {}

        /** Nobody can say. */
        record Unknown(StoreFailure failure) implements PackState {}
    }

    /** Asks for a pack before its commit. A server that tells no time never says that a pack is old, to those who remove any either. */
    public PackState stateBeforeCommit(PackInfo pack, TargetLayout keys) {
        return state(pack, keys, _ -> false);
    }

    /**
     * Asks for a pack after the commit of the manifest of that number, which names it. The age of the pack at the commit decides: a process that stood
     * still afterwards was in time.
     */
    public PackState stateAfterCommit(PackInfo pack, TargetLayout keys, long number) {
        return state(pack, keys, packDates -> store.head(keys.manifest(number)) instanceof HeadResult.Found manifest
                && isInTime(packDates, manifest.dates()));
    }

    private static boolean isInTime(ServerTimestamps pack, ServerTimestamps manifest) {
        return pack.lastModifiedMillis() > 0 && manifest.lastModifiedMillis() > 0
                && manifest.lastModifiedMillis() - pack.lastModifiedMillis() < BucketRemover.LONGEST_COMMIT.toMillis();
    }

    private PackState state(PackInfo pack, TargetLayout keys, Predicate<ServerTimestamps> wasInTime) {
        return switch (store.head(keys.pack(pack.name()))) {
            case HeadResult.Found found when found.bytes() != pack.bytes() -> new PackState.Gone();
            case HeadResult.Found found -> !BucketRemover.isOlder(found.dates(), BucketRemover.LONGEST_COMMIT) || wasInTime.test(found.dates())
                    ? new PackState.Lasting() : new PackState.Late();
            case HeadResult.Absent _ -> new PackState.Gone();
            case HeadResult.Unavailable unavailable when AbsenceVerifier.isAbsent(unavailable.failure(), keys.pack(pack.name()), store, keys) -> new PackState.Gone();
            case HeadResult.Unavailable unavailable -> new PackState.Unknown(unavailable.failure());
        };
    }
}
