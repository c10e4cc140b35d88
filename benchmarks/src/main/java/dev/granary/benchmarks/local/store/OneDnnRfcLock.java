package dev.granary.benchmarks.local.store;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A readers-writer lock of threads and processes. The first reader of a process acquires the shared
 * lock of the file, the last one releases it.
 */
final class OneDnnRfcLock implements AutoCloseable {
    private final FileChannel file;
    private final ReentrantReadWriteLock threads = new ReentrantReadWriteLock();
    private final Object door = new Object();
    private int readers;
    private @Nullable FileLock shared;

    /** An action under the lock that returns a number. */
    @FunctionalInterface
    interface Reading {
        long run() throws IOException;
    }

    /** An action under the lock. */
    @FunctionalInterface
    interface Writing {
        void run() throws IOException;
    }

    OneDnnRfcLock(Path path) throws IOException {
        this.file = FileChannel.open(
                path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    long read(Reading reading) throws IOException {
        threads.readLock().lock();
        try {
            enter();
            try {
                return reading.run();
            } finally {
                leave();
            }
        } finally {
            threads.readLock().unlock();
        }
    }

    void write(Writing writing) throws IOException {
        threads.writeLock().lock();
        try (FileLock _ = file.lock()) {
            writing.run();
        } finally {
            threads.writeLock().unlock();
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }

    private void enter() throws IOException {
        synchronized (door) {
            if (readers == 0) {
                shared = file.lock(0, Long.MAX_VALUE, true);
            }
            readers++;
        }
    }

    private void leave() throws IOException {
        synchronized (door) {
            FileLock held = shared;
            if (--readers == 0 && held != null) {
                shared = null;
                held.release();
            }
        }
    }
}
