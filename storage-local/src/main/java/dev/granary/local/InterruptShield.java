package dev.granary.local;

/**
 * Keeps an interrupt away from file channels, which it would close for all threads, until this is closed; then the thread is interrupted
 * again. For operations that never wait for long.
 */
final class InterruptShield implements AutoCloseable {
    private final boolean interrupted = Thread.interrupted();

    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
