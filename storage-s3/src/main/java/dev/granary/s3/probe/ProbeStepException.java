package dev.granary.s3.probe;

import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

/** End of a step of a {@link CapabilityProbe}: the server behaves otherwise, or it failed. */
final class ProbeStepException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient StoreFailure failure;
    private final boolean isConclusive;

    /** Creates the end of a step in which the server behaved like {@code how}. */
    ProbeStepException(String how) {
        this(how, StoreFailure.of(StoreFailure.Kind.SERVER, how), true);
    }

    /** Creates the end of a step without a conclusion. */
    ProbeStepException(StoreFailure failure) {
        this(failure.toString(), failure, false);
    }

    private ProbeStepException(String message, StoreFailure failure, boolean isConclusive) {
        super(message, null, false, false);
        this.failure = failure;
        this.isConclusive = isConclusive;
    }

    /**
     * Creates the end of a step by the response to its last request.
     *
     * @param how the behaviour of the server, if the response is an answer
     */
    static ProbeStepException of(WriteResult response, String how) {
        return WriteResult.failureOf(response)
                .map(failure -> failure.kind() == StoreFailure.Kind.NOT_SUPPORTED
                        ? new ProbeStepException("it is refused (" + failure + ")", failure, true)
                        : new ProbeStepException(failure))
                .orElseGet(() -> new ProbeStepException(how));
    }

    /** Returns the behaviour of the server, for people; throws this exception if it is unknown. */
    String how() throws ProbeStepException {
        if (!isConclusive) {
            throw this;
        }
        return String.valueOf(getMessage());
    }

    /** Returns the failure that ends a probe. */
    StoreFailure failure() {
        return failure;
    }
}
