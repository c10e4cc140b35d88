package dev.granary.local.file;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;

/**
 * Keeps interrupts of a thread back until this is closed; then the thread is interrupted again. An interrupt closes a file channel for all
 * threads, and with it the locks of the process on that file, so no file operation of the store may meet one. For one thread, and for
 * operations that never wait for long.
 */
public final class InterruptGuard implements AutoCloseable {
    private boolean interrupted = Thread.interrupted();

    /** An operation on a file, done in another thread. */
    @FunctionalInterface
    interface FileWork<T> extends Callable<T> {
        @Override
        T call() throws IOException;
    }

    /**
     * Does work in another thread, to which nobody has a reference and which nobody interrupts therefore, and waits for it. For what an
     * interrupt must not end: in the thread of a caller it closes the channel, and a mapping that was just made stays for the life of the
     * process, since {@link java.nio.channels.FileChannel#map} then throws without giving it back.
     *
     * @throws IOException if the work throws it, or if the system has no thread
     */
    static <T> T apart(FileWork<T> work) throws IOException {
        if (FileThreads.isOne(Thread.currentThread())) {
            return work.call();
        }
        FutureTask<T> task = new FutureTask<>(work);
        try (InterruptGuard shield = new InterruptGuard()) {
            FileThreads.execute(task);
            shield.await(task);
        } catch (OutOfMemoryError e) {
            throw new IOException("no thread for an operation on a file", e);
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
                return; // the task has it
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
    }

    /** Takes a lock within a time that interrupts neither shorten nor lengthen; returns whether it did. */
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

    /** Waits a moment; an interrupt ends this wait, and leaves later ones as they are. */
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
