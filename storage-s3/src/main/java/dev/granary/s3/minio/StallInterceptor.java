package dev.granary.s3.minio;

import dev.granary.s3.store.StallDetector;

import okhttp3.Interceptor;
import okhttp3.MediaType;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.ResponseBody;

import okio.Buffer;
import okio.BufferedSink;
import okio.ForwardingSink;
import okio.ForwardingSource;
import okio.Okio;

import org.jspecify.annotations.Nullable;

import java.io.IOException;

/**
 * Aborts requests whose bytes stop moving: OkHttp's timeouts are totals, or cover single reads and
 * writes.
 */
final class StallInterceptor implements Interceptor {
    private final StallDetector stalls;

    StallInterceptor(StallDetector stalls) {
        this.stalls = stalls;
    }

    @Override
    public Response intercept(Chain chain) throws IOException {
        StallDetector.Watch watch = stalls.watch(chain.call()::cancel);
        boolean isReading = false;
        try {
            Request request = chain.request();
            RequestBody body = request.body();
            Response response = chain.proceed(
                    body == null
                            ? request
                            : request.newBuilder()
                                    .method(request.method(), new WatchedRequestBody(body, watch))
                                    .build());
            watch.responseStarted();
            isReading = true;
            return response.newBuilder().body(watched(response.body(), watch)).build();
        } catch (IOException e) {
            throw watch.translate(e);
        } finally {
            if (!isReading) {
                watch.close();
            }
        }
    }

    /** A request body that reports the bytes sent. */
    private static final class WatchedRequestBody extends RequestBody {
        private final RequestBody body;
        private final StallDetector.Watch watch;

        WatchedRequestBody(RequestBody body, StallDetector.Watch watch) {
            this.body = body;
            this.watch = watch;
        }

        @Override
        public @Nullable MediaType contentType() {
            return body.contentType();
        }

        @Override
        public long contentLength() throws IOException {
            return body.contentLength();
        }

        @Override
        public boolean isOneShot() {
            return body.isOneShot();
        }

        @Override
        public void writeTo(BufferedSink sink) throws IOException {
            BufferedSink watched = Okio.buffer(new ForwardingSink(sink) {
                @Override
                public void write(Buffer from, long bytes) throws IOException {
                    super.write(from, bytes);
                    watch.moved(bytes);
                }
            });
            body.writeTo(watched);
            watched.emit(); // no flush: the sink does not belong to this body
        }
    }

    /** Returns a body that reports the bytes received. */
    private static ResponseBody watched(ResponseBody body, StallDetector.Watch watch) {
        return new ForwardedBody(body, new ForwardingSource(body.source()) {
            @Override
            public long read(Buffer into, long bytes) throws IOException {
                try {
                    long read = super.read(into, bytes);
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
        });
    }
}
