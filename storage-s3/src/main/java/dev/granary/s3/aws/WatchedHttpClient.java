package dev.granary.s3.aws;

import dev.granary.s3.store.StallDetector;

import org.jspecify.annotations.Nullable;

import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.HttpExecuteResponse;
import software.amazon.awssdk.http.SdkHttpClient;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

/**
 * An HTTP client of the SDK that aborts requests whose bytes stop moving. The SDK's own deadlines
 * are totals, and a socket timeout covers single reads. Neither ends a request to a server that
 * does not read a body, or that drips single bytes.
 */
final class WatchedHttpClient implements SdkHttpClient {
    /**
     * Bytes of an unread body that closing reads to reuse the connection; a longer body is aborted.
     */
    private static final int MAX_REST = 4 << 10;

    private final SdkHttpClient client;
    private final StallDetector stalls;

    WatchedHttpClient(SdkHttpClient client, StallDetector stalls) {
        this.client = client;
        this.stalls = stalls;
    }

    @Override
    public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
        return new WatchedRequest(request);
    }

    @Override
    public String clientName() {
        return client.clientName();
    }

    @Override
    public void close() {
        client.close();
        stalls.close();
    }

    /** One request. Not thread-safe, except for {@link #abort}. */
    private final class WatchedRequest implements ExecutableHttpRequest {
        private final ExecutableHttpRequest request;
        private final AtomicReference<StallDetector.@Nullable Watch> watched =
                new AtomicReference<>();

        WatchedRequest(HttpExecuteRequest original) {
            this.request = client.prepareRequest(watched(original));
        }

        private HttpExecuteRequest watched(HttpExecuteRequest original) {
            HttpExecuteRequest.Builder builder =
                    HttpExecuteRequest.builder().request(original.httpRequest());
            original.metricCollector().ifPresent(builder::metricCollector);
            original.contentStreamProvider()
                    .ifPresent(
                            content -> builder.contentStreamProvider(new WatchedContent(content)));
            return builder.build();
        }

        @Override
        public HttpExecuteResponse call() throws IOException {
            StallDetector.Watch watch = stalls.watch(request::abort);
            watched.set(watch);
            boolean isReading = false;
            try {
                HttpExecuteResponse response = request.call();
                watch.responseStarted();
                Optional<AbortableInputStream> body = response.responseBody();
                isReading = body.isPresent();
                return isReading
                        ? HttpExecuteResponse.builder()
                                .response(response.httpResponse())
                                .responseBody(read(body.get(), watch))
                                .build()
                        : response;
            } catch (IOException e) {
                throw watch.translate(e);
            } finally {
                if (!isReading) {
                    watch.close();
                }
            }
        }

        private AbortableInputStream read(AbortableInputStream body, StallDetector.Watch watch) {
            InputStream watchedBody = watch.body(body);
            Runnable abort = () -> {
                watch.close();
                body.abort();
            };
            return AbortableInputStream.create(
                    new FilterInputStream(watchedBody) {
                        @Override
                        public void close() throws IOException {
                            if (hasEnded()) {
                                in.close();
                            } else {
                                // the client's close would read the rest, of any length
                                abort.run();
                            }
                        }

                        private boolean hasEnded() {
                            try {
                                return in.readNBytes(MAX_REST).length < MAX_REST;
                            } catch (IOException e) {
                                return false;
                            }
                        }
                    },
                    abort::run);
        }

        @Override
        public void abort() {
            request.abort();
        }

        private void sent(int bytes) {
            StallDetector.Watch watch = watched.get();
            if (watch != null) {
                watch.moved(bytes);
            }
        }

        /** A request body that reports the bytes sent. */
        private final class WatchedContent implements ContentStreamProvider {
            private final ContentStreamProvider content;

            WatchedContent(ContentStreamProvider content) {
                this.content = content;
            }

            @Override
            public InputStream newStream() {
                return new FilterInputStream(content.newStream()) {
                    @Override
                    public int read() throws IOException {
                        int value = in.read();
                        sent(value < 0 ? 0 : 1);
                        return value;
                    }

                    @Override
                    public int read(byte[] into, int offset, int length) throws IOException {
                        int read = in.read(into, offset, length);
                        sent(read);
                        return read;
                    }
                };
            }

            @Override
            public String name() {
                return content.name();
            }
        }
    }
}
