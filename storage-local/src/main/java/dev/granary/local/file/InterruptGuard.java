package dev.granary.local.file;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;

/**
 * Scope that holds back interrupts of the current thread and restores them when it is closed. An
 * interrupt would close a file channel for all threads and release the process's locks on that
 * file. For one thread, and for operations without long waits.
 */
public final class InterruptGuard implements AutoCloseable {
    private boolean interrupted = Thread.interrupted();

    /** A file operation that runs in another thread. */
    @FunctionalInterface
    interface FileWork<T> extends Callable<T> {
        @Override
        T call() throws IOException;
    }

    /**
     * Runs {@code work} in another thread, which has no outside references and so is never
     * interrupted, and waits for it. For operations that an interrupt must not end: in the caller's
     * thread it would close the channel. A mapping just made would then stay for the life of the
     * process, since {@link java.nio.channels.FileChannel#map} throws without unmapping it.
     *
     * @throws IOException if {@code work} throws it, or if the system cannot create a thread
     */
    static <T> T inFileThread(FileWork<T> work) throws IOException {
        if (FileThreads.isFileThread(Thread.currentThread())) {
            return work.call();
        }
        FutureTask<T> task = new FutureTask<>(work);
        try (InterruptGuard shield = new InterruptGuard()) {
            FileThreads.execute(task);
            shield.await(task);
        } catch (OutOfMemoryError e) {
            throw new IOException("the system has no thread for a file operation", e);
        }
        if (task.state() == FutureTask.State.SUCCESS) {
            return task.resultNow();
        }
        switch (task.exceptionNow()) {
            case IOException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException(e);
        }
    }

    private void await(FutureTask<?> task) {
        while (true) {
            try {
                task.get();
                return;
            } catch (ExecutionException e) {
                return; // the task keeps the exception
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
    }

    /**
     * Acquires a lock within {@code nanos} nanoseconds, whatever interrupts arrive; returns whether
     * it succeeded.
     */
    boolean tryLock(Lock lock, long nanos) {
        long start = System.nanoTime();
        while (true) {
            try {
                return lock.tryLock(nanos - (System.nanoTime() - start), TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
    }

    /** Pauses for {@code nanos} nanoseconds. An interrupt ends this pause, but not later ones. */
    public void pause(long nanos) {
        LockSupport.parkNanos(nanos);
        interrupted |= Thread.interrupted();
    }

    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
