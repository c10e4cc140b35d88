package dev.granary.s3.store;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Aborts the requests of one transport that make no progress: connecting, sending, waiting for the first byte, and reading each count. Thread-safe.
 *
 * <p>A request must move {@value #MIN_BYTES} bytes, bring the head of its answer, or end, within each period of the limit. A total cannot tell a slow
 * network from a silent server: a part of 16 MiB may need minutes, and the first byte of an answer needs none.
 */
public final class StallDetector implements AutoCloseable {
    /** The bytes that a request must move within the limit: fewer are a server that drips to keep its connections. */
    public static final int MIN_BYTES = 1 << 10;

    private final ScheduledThreadPoolExecutor thread = new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().daemon().name("granary-stalls").factory());
    private final Duration limit;
    private final TrafficCounter traffic;

    /** Of one transport; {@code limit} is above zero. */
    public StallDetector(Duration limit, TrafficCounter traffic) {
        this.limit = limit;
        this.traffic = traffic;
        thread.setRemoveOnCancelPolicy(true);
    }

    /**
     * Begins to watch a request.
     *
     * @param abort ends the request from another thread, so that the thread that waits for it gets an {@link IOException}
     */
    public Watch watch(Runnable abort) {
        Watch watch = new Watch(abort);
        traffic.begin();
        watch.next(limit.toNanos());
        return watch;
    }

    /** Ends the thread; requests under way are not watched any more. */
    @Override
    public void close() {
        thread.shutdownNow();
    }

    /** One request that is watched. Bytes are told by one thread at a time. */
    public final class Watch implements AutoCloseable {
        private final Runnable abort;
        private volatile long lastNanos = System.nanoTime();
        private volatile boolean stalled;
        private boolean ended; // this watch is its lock
        private @Nullable Future<?> check;
        private long moved;
        private long enough = MIN_BYTES;

        private Watch(Runnable abort) {
            this.abort = abort;
        }

        private synchronized void next(long nanos) {
            if (!ended) {
                try {
                    check = thread.schedule(this::check, nanos, TimeUnit.NANOSECONDS);
                } catch (RejectedExecutionException e) {
                    ended = true; // the transport is closed, and its connections with it
                    traffic.end();
                }
            }
        }

        private void check() {
            long left = limit.toNanos() - (System.nanoTime() - lastNanos);
            if (left > 0) {
                next(left);
            } else if (close(true)) {
                abort.run();
            }
        }

        /** Notes bytes that moved in either direction. */
        public void moved(long bytes) {
            traffic.moved();
            moved += Math.max(0, bytes);
            if (moved >= enough) {
                enough = moved + MIN_BYTES;
                lastNanos = System.nanoTime();
                traffic.progressed();
            }
        }

        /** Notes that the head of the answer came. */
        public void answered() {
            traffic.moved();
            lastNanos = System.nanoTime();
        }

        /** The exception to throw for {@code thrown}: that of a stall, where this watch has aborted the request. */
        public IOException told(IOException thrown) {
            if (!stalled) {
                return thrown;
            }
            SocketTimeoutException stall = new SocketTimeoutException("fewer than " + MIN_BYTES + " bytes moved for " + seconds(limit));
            stall.addSuppressed(thrown); // and no cause: the deepest cause is what people are told
            return stall;
        }

        /** The body of the answer, watched until its end; closing it ends this watch. */
        public InputStream body(InputStream body) {
            return new Body(body, this);
        }

        /** Notes bytes of the answer's body that have come; a negative number is its end, and that of this watch. */
        public void came(long bytes) {
            if (bytes < 0) {
                close();
            } else {
                traffic.came(bytes);
                moved(bytes);
            }
        }

        /** Ends the watch: nothing is aborted any more. */
        @Override
        public void close() {
            close(false);
        }

        private synchronized boolean close(boolean isStalled) {
            if (ended) {
                return false;
            }
            ended = true;
            stalled = isStalled;
            traffic.end();
            if (check != null) {
                check.cancel(false);
            }
            return true;
        }
    }

    private static String seconds(Duration limit) {
        return limit.toMillis() % 1000 == 0 ? limit.toSeconds() + " s" : limit.toMillis() + " ms";
    }

    /** A body whose bytes are told to a watch. */
    private static final class Body extends FilterInputStream {
        private final Watch watch;

        Body(InputStream body, Watch watch) {
            super(body);
            this.watch = watch;
        }

        @Override
        public int read() throws IOException {
            try {
                int value = in.read();
                watch.came(value < 0 ? value : 1);
                return value;
            } catch (IOException e) {
                throw watch.told(e);
            }
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            try {
                int read = in.read(into, offset, length);
                watch.came(read);
                return read;
            } catch (IOException e) {
                throw watch.told(e);
            }
        }

        @Override
        public void close() throws IOException {
            watch.close();
            super.close();
        }
    }
}
