package dev.granary.local.file;

import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Daemon threads that callers hold no reference to and so cannot interrupt. They open files, and wait for
 * the time to write uses. A thread ends after a second without work: opening a store needs several calls.
 */
public final class FileThreads {
    private static final ThreadPoolExecutor POOL =
            new ThreadPoolExecutor(0, Integer.MAX_VALUE, 1, TimeUnit.SECONDS, new SynchronousQueue<>(), FileThread::new);

    private FileThreads() {}

    private static final class FileThread extends Thread {
        FileThread(Runnable work) {
            super(null, work, "granary-local-files", 0, false);
            setDaemon(true);
        }
    }

    /**
     * Has an idle thread do the work, or a new one.
     *
     * @throws OutOfMemoryError if the system has no thread
     */
    public static void execute(Runnable work) {
        POOL.execute(work);
    }

    /** True for a thread of this class. */
    static boolean isOne(Thread thread) {
        return thread instanceof FileThread;
    }
}
