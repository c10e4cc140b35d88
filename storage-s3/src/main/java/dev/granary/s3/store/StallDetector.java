package dev.granary.s3.store;

import org.jspecify.annotations.Nullable;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Aborts requests of one transport without progress, from connecting to the last byte of the
 * response. Thread-safe.
 *
 * <p>Within each period of the limit, a request must move {@value #MIN_BYTES} bytes, receive the
 * head of its response, or end. A total timeout cannot distinguish a slow network from a silent
 * server: a range of 16 MiB may need minutes, but its first byte does not.
 */
public final class StallDetector implements AutoCloseable {
    /**
     * Bytes that a request must move within the limit; a server that sends fewer only keeps its
     * connections open.
     */
    public static final int MIN_BYTES = 1 << 10;

    private final ScheduledThreadPoolExecutor thread = new ScheduledThreadPoolExecutor(
            1, Thread.ofPlatform().daemon().name("granary-stalls").factory());
    private final Duration limit;
    private final TrafficCounter traffic;

    /** Creates the detector of one transport; {@code limit} is above zero. */
    public StallDetector(Duration limit, TrafficCounter traffic) {
        this.limit = limit;
        this.traffic = traffic;
        thread.setRemoveOnCancelPolicy(true);
    }

    /**
     * Starts to watch a request.
     *
     * @param abort ends the request from another thread, so that its own thread gets an
     *     {@link IOException}
     */
    public Watch watch(Runnable abort) {
        Watch watch = new Watch(abort);
        traffic.begin();
        watch.next(limit.toNanos());
        return watch;
    }

    /** Stops the thread; requests in progress are no longer watched. */
    @Override
    public void close() {
        thread.shutdownNow();
    }

    /** One watched request. Bytes are reported by one thread at a time. */
    public final class Watch implements AutoCloseable {
        private final Runnable abort;
        private volatile long lastNanos = System.nanoTime();
        private volatile boolean stalled;
        private boolean ended; // guarded by this watch
        private @Nullable Future<?> check;
        private long moved;
        private long nextProgress = MIN_BYTES;

        private Watch(Runnable abort) {
            this.abort = abort;
        }

        private synchronized void next(long nanos) {
            if (!ended) {
                try {
                    check = thread.schedule(this::check, nanos, TimeUnit.NANOSECONDS);
                } catch (RejectedExecutionException e) {
                    ended = true; // the transport is closed, with its connections
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

        /** Records bytes moved in either direction. */
        public void moved(long bytes) {
            traffic.moved();
            moved += Math.max(0, bytes);
            if (moved >= nextProgress) {
                nextProgress = moved + MIN_BYTES;
                lastNanos = System.nanoTime();
                traffic.progressed();
            }
        }

        /** Records the arrival of the response head. */
        public void responseStarted() {
            traffic.moved();
            lastNanos = System.nanoTime();
        }

        /**
         * Returns the exception to throw for {@code thrown}: that of a stall if this watch aborted
         * the request.
         */
        public IOException translate(IOException thrown) {
            if (!stalled) {
                return thrown;
            }
            SocketTimeoutException stall = new SocketTimeoutException(
                    "fewer than " + MIN_BYTES + " bytes moved for " + seconds(limit));
            stall.addSuppressed(thrown); // not as a cause: messages report the root cause
            return stall;
        }

        /** Returns the response body, watched until its end; closing it ends this watch. */
        public InputStream body(InputStream body) {
            return new Body(body, this);
        }

        /**
         * Records received bytes of the response body; a negative number is its end and ends this
         * watch.
         */
        public void received(long bytes) {
            if (bytes < 0) {
                close();
            } else {
                traffic.received(bytes);
                moved(bytes);
            }
        }

        /** Ends the watch; the request is no longer aborted. */
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

    /** A response body that reports its bytes to a watch. */
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
                watch.received(value < 0 ? value : 1);
                return value;
            } catch (IOException e) {
                throw watch.translate(e);
            }
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            try {
                int read = in.read(into, offset, length);
                watch.received(read);
                return read;
            } catch (IOException e) {
                throw watch.translate(e);
            }
        }

        @Override
        public void close() throws IOException {
            watch.close();
            super.close();
        }
    }
}
