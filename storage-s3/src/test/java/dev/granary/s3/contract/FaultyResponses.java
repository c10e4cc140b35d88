package dev.granary.s3.contract;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.s3.contract.Fault.Change;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.s3.transport.ResponseClassifier;

import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;

/**
 * The results of a transport for a response that a {@link Fault} has changed or replaced, as of
 * both transports on the wire.
 */
final class FaultyResponses {
    private static final String WRONG_ETAG = "0".repeat(32);
    private static final int SURPLUS_BYTES = 7;
    private static final byte[] PAGE = "<html><body>Sign in</body></html>".getBytes(UTF_8);

    private FaultyResponses() {}

    static GetResult get(GetResult sound, Change change, long limit, Supplier<GetResult> another) {
        return switch (change) {
            case TRUNCATED -> new GetResult.Unavailable(Fault.RESET);
            case SURPLUS ->
                sound instanceof GetResult.Found found
                        ? new GetResult.Found(
                                found.bytes()
                                        .asSlice(
                                                0,
                                                Math.max(
                                                        0,
                                                        found.bytes().byteSize() - SURPLUS_BYTES)),
                                found.etag())
                        : sound;
            case LONGER -> sound instanceof GetResult.Found found ? longer(found, limit) : sound;
            case WRONG_ETAG ->
                sound instanceof GetResult.Found found
                        ? new GetResult.Found(found.bytes(), WRONG_ETAG)
                        : sound;
            case OTHER_BODY -> another.get();
        };
    }

    private static GetResult longer(GetResult.Found found, long limit) {
        long length = found.bytes().byteSize();
        MemorySegment longer = MemorySegment.ofArray(new byte[(int) length + SURPLUS_BYTES]);
        longer.asSlice(0, length).copyFrom(found.bytes());
        return longer.byteSize() > limit
                ? new GetResult.TooLarge(limit)
                : new GetResult.Found(longer, found.etag());
    }

    static HeadResult head(HeadResult sound, Change change, Supplier<HeadResult> another) {
        return switch (change) {
            case TRUNCATED -> new HeadResult.Unavailable(Fault.RESET);
            case SURPLUS, LONGER -> sound;
            case WRONG_ETAG ->
                sound instanceof HeadResult.Found found
                        ? new HeadResult.Found(found.bytes(), WRONG_ETAG, found.dates())
                        : sound;
            case OTHER_BODY -> another.get();
        };
    }

    static WriteResult write(WriteResult sound, Change change) {
        return switch (change) {
            case TRUNCATED -> WriteResult.failed(Fault.RESET);
            case WRONG_ETAG ->
                sound instanceof WriteResult.Done done && !done.etag().isEmpty()
                        ? new WriteResult.Done(WRONG_ETAG)
                        : sound;
            case SURPLUS, LONGER, OTHER_BODY -> sound;
        };
    }

    static GetResult blank() {
        return new GetResult.Found(MemorySegment.ofArray(new byte[0]), "");
    }

    static GetResult page() {
        return new GetResult.Found(MemorySegment.ofArray(PAGE.clone()), "");
    }

    /** Returns the head of a response without a version or dates. */
    static HeadResult bare() {
        return new HeadResult.Found(0, "", ServerTimestamps.NONE);
    }

    /** Returns the result of a success without a version: a deletion needs none. */
    static WriteResult bareWrite(boolean isDeletion) {
        return isDeletion ? new WriteResult.Done("") : ResponseClassifier.written("");
    }

    static StoreFailure conflict() {
        return ResponseClassifier.failure(409, "ConditionalRequestConflict", "scripted");
    }

    static StoreFailure preconditionFailed() {
        return ResponseClassifier.failure(412, "PreconditionFailed", "scripted");
    }
}
