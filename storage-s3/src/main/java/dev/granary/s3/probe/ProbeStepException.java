package dev.granary.s3.probe;

import dev.granary.s3.store.StoreFailure;

import java.util.Optional;

/** End of a step of a {@link CapabilityProbe}: the server behaves otherwise, or it failed. */
final class ProbeStepException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient Optional<StoreFailure> failure;
    private final boolean isConclusive;

    private ProbeStepException(
            String message, Optional<StoreFailure> failure, boolean isConclusive) {
        super(message, null, false, false);
        this.failure = failure;
        this.isConclusive = isConclusive;
    }

    /** Creates the end of a step in which the server behaved like {@code how}. */
    static ProbeStepException otherwise(String how) {
        return new ProbeStepException(how, Optional.empty(), true);
    }

    /** Creates the end of a step whose request the server does not support. */
    static ProbeStepException refused(StoreFailure failure) {
        return new ProbeStepException(
                "it is refused (" + failure + ")", Optional.of(failure), true);
    }

    /** Creates the end of a step without a conclusion. */
    static ProbeStepException unclear(StoreFailure failure) {
        return new ProbeStepException(failure.toString(), Optional.of(failure), false);
    }

    /** Returns the behaviour of the server, for people; throws this exception if it is unknown. */
    String how() throws ProbeStepException {
        if (!isConclusive) {
            throw this;
        }
        return message();
    }

    /** Returns the failure that ended the probe. */
    StoreFailure failure() {
        return failure.orElseGet(() -> StoreFailure.of(StoreFailure.Kind.SERVER, message()));
    }

    private String message() {
        return String.valueOf(getMessage());
    }
}
