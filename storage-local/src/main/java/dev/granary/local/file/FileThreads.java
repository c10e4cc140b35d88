package dev.granary.local.file;

import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Pool of daemon threads to which callers have no reference, so that they cannot interrupt them.
 * The threads open files and delay the writing of last uses. An idle thread ends after 1 s, since
 * opening a store needs several calls.
 */
public final class FileThreads {
    private static final ThreadPoolExecutor POOL = new ThreadPoolExecutor(
            0, Integer.MAX_VALUE, 1, TimeUnit.SECONDS, new SynchronousQueue<>(), FileThread::new);

    private FileThreads() {}

    /** A daemon thread of the pool, which callers cannot interrupt. */
    private static final class FileThread extends Thread {
        FileThread(Runnable work) {
            super(null, work, "granary-local-files", 0, false);
            setDaemon(true);
        }
    }

    /**
     * Runs {@code work} in an idle thread, or in a new one.
     *
     * @throws OutOfMemoryError if the system cannot create a thread
     */
    public static void execute(Runnable work) {
        POOL.execute(work);
    }

    /** Returns whether {@code thread} belongs to this pool. */
    static boolean isFileThread(Thread thread) {
        return thread instanceof FileThread;
    }
}
