package dev.granary.s3.register;

import dev.granary.s3.store.StoreFailure;

import java.io.IOException;

/** Thrown if a head or base cannot be read or written. */
public final class RegisterException extends IOException {
    private static final long serialVersionUID = 1;

    private final boolean isLoss;
    private final boolean isTransient;

    private RegisterException(String message, boolean isLoss, boolean isTransient) {
        super(message);
        this.isLoss = isLoss;
        this.isTransient = isTransient;
    }

    /** Returns the exception of a request that failed. */
    static RegisterException of(String what, StoreFailure failure) {
        return new RegisterException(what + ": " + failure, false, failure.isTransient());
    }

    /** Returns the exception of an object that this version cannot use. */
    static RegisterException unusable(String message) {
        return new RegisterException(message, false, false);
    }

    /** Returns the exception of an object that is missing or damaged. */
    static RegisterException loss(String message) {
        return new RegisterException(message, true, false);
    }

    /** Returns true if the object is missing or damaged; {@code compact --adopt} replaces it. */
    public boolean isLoss() {
        return isLoss;
    }

    /** Returns true if a retry of the request may succeed. */
    boolean isTransient() {
        return isTransient;
    }
}
