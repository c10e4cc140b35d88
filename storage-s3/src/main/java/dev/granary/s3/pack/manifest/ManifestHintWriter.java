package dev.granary.s3.pack.manifest;

import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Writer of the hint of one target: creates it before the first manifest, and advances it to later
 * ones. Thread-safe.
 */
final class ManifestHintWriter {
    private static final int MAX_ATTEMPTS = 3;
    private static final int MAX_UNDATED = 1;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackManifestChain chain;
    private final Consumer<Duration> pause;

    ManifestHintWriter(
            ObjectStore store,
            TargetLayout keys,
            PackManifestChain chain,
            Consumer<Duration> pause) {
        this.store = store;
        this.keys = keys;
        this.chain = chain;
        this.pause = pause;
    }

    /**
     * Returns the hint with the time at which it was written, and creates it if there is none. An
     * unusable response is requested again: a bucket without a hint has no manifests, and the first
     * manifest gets its number from that time.
     */
    ManifestHint created() throws UnknownStateException {
        StoreFailure failure = StoreFailure.of(
                StoreFailure.Kind.SERVER,
                "the server reports that " + keys.hint() + " exists, but does not return it");
        int undated = 0;
        for (int attempt = 0; attempt <= MAX_ATTEMPTS; attempt++) {
            Optional<ManifestHint> hint = Optional.empty();
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
            if (hint.isEmpty() && attempt < MAX_ATTEMPTS) {
                switch (store.putIfAbsent(keys.hint(), ManifestHint.encode(0), ObjectMarks.NONE)) {
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
    enum Reachability {
        REACHED,
        NOT_REACHED,
        UNKNOWN
    }

    /** Since when a manifest is known to exist. */
    enum Origin {
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
    Reachability advance(PackManifest manifest, Origin origin) {
        byte[] text = ManifestHint.encode(manifest.number());
        for (int attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
            try {
                Optional<ManifestHint> now = chain.hint();
                Route route = route(manifest, origin, now);
                if (route == Route.NONE) {
                    return Reachability.NOT_REACHED;
                }
                boolean isAhead = route == Route.HINT
                        && now.isPresent()
                        && now.get().number() >= manifest.number();
                if (isAhead || isWritten(now, text)) {
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
    private Route route(PackManifest manifest, Origin origin, Optional<ManifestHint> hint)
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
        long newest = chain.newestNumber(hint.orElse(ManifestHint.UNKNOWN));
        return newest == number || (newest > number && chain.isContiguous(number, newest))
                ? Route.LISTING
                : Route.NONE;
    }

    private boolean isWritten(Optional<ManifestHint> before, byte[] text) {
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
