package dev.granary.coordinator;

/**
 * A state of the calling thread in which it can start no other thread, as at the system's limit of
 * threads, until it is closed.
 */
public final class RefusedThreads implements AutoCloseable {
    public static final String MESSAGE = "unable to create native thread";

    // a new thread computes its value before it starts, in the thread that creates it
    private final InheritableThreadLocal<Boolean> refusal = new InheritableThreadLocal<>() {
        @Override
        protected Boolean childValue(Boolean parent) {
            throw new OutOfMemoryError(MESSAGE);
        }
    };

    public RefusedThreads() {
        refusal.set(true);
    }

    @Override
    public void close() {
        refusal.remove();
    }
}
