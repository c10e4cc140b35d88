package dev.granary.s3.register;

import dev.granary.cache.support.Ticker;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.time.Duration;
import java.util.Optional;

/** Writer of objects whose name has the hash of their content: packs and bases. Thread-safe. */
public final class ImmutableWriter {
    private static final int MAX_ATTEMPTS = 3;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);

    private final ObjectStore store;
    private final Ticker ticker;

    public ImmutableWriter(ObjectStore store, Ticker ticker) {
        this.store = store;
        this.ticker = ticker;
    }

    /**
     * Writes an object. An existing one is this object, from a request whose response was lost, or
     * from another writer of the same content.
     *
     * @return the failure; empty if the server answered that the object is there
     */
    public Optional<StoreFailure> write(String key, byte[] body) {
        StoreFailure failure = StoreFailure.of(
                StoreFailure.Kind.SERVER, "the server reports that it exists, and lacks it");
        for (int attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
            switch (store.putIfAbsent(key, body)) {
                case WriteResult.Done _ -> {
                    return Optional.empty();
                }
                case WriteResult.NotAllowed(StoreFailure refusal) -> {
                    return Optional.of(refusal);
                }
                case WriteResult.NotSent(StoreFailure unsent) -> {
                    return Optional.of(unsent);
                }
                case WriteResult.Unknown(StoreFailure lost) -> failure = lost;
                case WriteResult.Conflict _ -> {}
                case WriteResult.PreconditionFailed _ -> {
                    if (store.head(key) instanceof HeadResult.Found found
                            && found.bytes() == body.length) {
                        return Optional.empty();
                    }
                }
            }
            if (attempt < MAX_ATTEMPTS) {
                ticker.pauseQuietly(FIRST_PAUSE.multipliedBy(attempt));
            }
        }
        return Optional.of(failure);
    }
}
