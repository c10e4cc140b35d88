package dev.granary.s3.history;

/** Ends a history in which a promise does not hold. */
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
