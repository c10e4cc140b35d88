package dev.granary.s3.pack;

/** Ends a listing of which no more is wanted; thrown by its visitor, and caught by whoever began the listing. */
public final class StopListingException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public StopListingException() {
        super("No more is wanted", null, false, false);
    }
}
