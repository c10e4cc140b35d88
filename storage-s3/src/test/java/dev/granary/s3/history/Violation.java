package dev.granary.s3.history;

/** Ends a history in which something did not hold that must. */
final class Violation extends RuntimeException {
    private final Shape shape;

    Violation(Shape shape, String message) {
        super(shape + ": " + message);
        this.shape = shape;
    }

    Shape shape() {
        return shape;
    }
}
