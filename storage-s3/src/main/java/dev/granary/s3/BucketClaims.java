package dev.granary.s3;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.ClaimStore;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;

import java.lang.foreign.ValueLayout;
import java.util.Optional;
import java.util.function.Supplier;

/** Claims in a bucket, one object each, which conditional writes create and take over. */
final class BucketClaims implements ClaimStore {
    private final BucketLayout layout;
    private final ObjectStore store;
    private final TrustPolicy trust;
    private final Supplier<Optional<ConditionalWriteSupport>> conditions;

    /**
     * Creates the claims.
     *
     * @param trust which signatures of entries count
     * @param conditions what is known about conditional writes, without a request
     */
    BucketClaims(
            BucketLayout layout,
            ObjectStore store,
            TrustPolicy trust,
            Supplier<Optional<ConditionalWriteSupport>> conditions) {
        this.layout = layout;
        this.store = store;
        this.trust = trust;
        this.conditions = conditions;
    }

    @Override
    public Result claim(Id id, Claim claim) {
        return conditions.get().orElse(ConditionalWriteSupport.FULL) == ConditionalWriteSupport.FULL
                ? result(store.putIfAbsent(layout.claim(id), claim.encode()), id, claim)
                : new Result.Unavailable("the server does not support conditional writes");
    }

    @Override
    public Result takeOver(Id id, Result.Taken old, Claim claim) {
        return result(
                store.replaceIfMatch(layout.claim(id), old.version(), claim.encode()), id, claim);
    }

    @Override
    public void fail(Id id, Result.Mine mine, Claim claim) {
        store.replaceIfMatch(layout.claim(id), mine.version(), claim.failed().encode());
    }

    /** Loads the unpacked entry, as which a claimed one is published. */
    @Override
    public LoadResult poll(Id id) {
        return store.get(layout.entry(id), EntryFormat.MAX_BYTES) instanceof GetResult.Found found
                ? trust.check(EntryFormat.decode(found.bytes(), id, VerificationLevel.CONTENT_HASH))
                : LoadResult.ABSENT; // or not known to be there
    }

    /** A failed precondition may be the answer to the second sending of a write that succeeded. */
    private Result result(WriteResult written, Id id, Claim claim) {
        return switch (written) {
            case WriteResult.Done(String version) -> new Result.Mine(version);
            case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> {
                Result seen = read(id);
                yield seen instanceof Result.Taken taken
                                && taken.claim().nonce().equals(claim.nonce())
                        ? new Result.Mine(taken.version())
                        : seen;
            }
            case WriteResult.NotAllowed refused ->
                new Result.Unavailable(refused.failure().toString());
            case WriteResult.NotSent unsent ->
                new Result.Unavailable(unsent.failure().toString());
            case WriteResult.Unknown lost ->
                new Result.Unavailable(lost.failure().toString());
        };
    }

    @Override
    public Result read(Id id) {
        if (!(store.get(layout.claim(id), Claim.MAX_BYTES) instanceof GetResult.Found found)) {
            return new Result.Unavailable("the claim cannot be read");
        }
        return Claim.decode(found.bytes().toArray(ValueLayout.JAVA_BYTE))
                .<Result>map(claim -> new Result.Taken(claim, found.dates().age(), found.etag()))
                .orElseGet(() -> new Result.Unavailable("the claim is damaged"));
    }
}
