package dev.granary.s3.store;

/**
 * Thrown by the visitor of a listing to end it early, and caught by the caller that began the
 * listing.
 */
public final class StopListingException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public StopListingException() {
        super("The visitor stopped the listing", null, false, false);
    }
}
