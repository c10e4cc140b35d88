package dev.granary.s3.aws;

import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.TrafficCounter;
import dev.granary.s3.transport.ResponseSizeLimit;

import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.http.Abortable;
import software.amazon.awssdk.http.SdkHttpResponse;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Limits the size of all responses except objects, which {@code BoundedBodyReader} limits: the SDK
 * buffers them completely. Also counts the bytes of all.
 *
 * <p>Also removes unused headers: the SDK fails a response, and logs a stack trace, for any known
 * header that it cannot parse.
 */
final class ResponseSizeInterceptor implements ExecutionInterceptor {
    private static final Set<String> USED_HEADERS = Set.of(
            "content-length",
            "content-type",
            "content-encoding",
            "transfer-encoding",
            "connection",
            "date",
            "etag",
            "x-amz-request-id",
            "x-amz-id-2",
            "x-amz-bucket-region");
    private static final String LAST_MODIFIED = "last-modified";

    private final TrafficCounter traffic;

    ResponseSizeInterceptor(TrafficCounter traffic) {
        this.traffic = traffic;
    }

    @Override
    public SdkHttpResponse modifyHttpResponse(
            Context.ModifyHttpResponse context, ExecutionAttributes attributes) {
        SdkHttpResponse response = context.httpResponse();
        SdkHttpResponse.Builder filtered = response.toBuilder().clearHeaders();
        response.forEachHeader((name, values) -> {
            String lower = name.toLowerCase(Locale.ROOT);
            boolean isDate = lower.equals(LAST_MODIFIED)
                    && !values.isEmpty()
                    && ServerTimestamps.ofHeaders(values.getFirst(), null).lastModifiedMillis()
                            != 0;
            if (USED_HEADERS.contains(lower) || isDate) {
                filtered.putHeader(name, values);
            }
        });
        return filtered.build();
    }

    @Override
    public Optional<InputStream> modifyHttpResponseContent(
            Context.ModifyHttpResponse context, ExecutionAttributes attributes) {
        if (RehearsalHttpClient.isRehearsal(context.httpRequest())) {
            return context.responseBody(); // the server sent nothing
        }
        boolean isObject = context.request() instanceof GetObjectRequest
                && context.httpResponse().isSuccessful();
        ResponseSizeLimit limit =
                new ResponseSizeLimit(context.httpResponse().statusCode(), isObject, traffic);
        return context.responseBody().map(body -> new LimitedBody(body, limit));
    }

    /** A body that throws an exception if it is too long. */
    private static final class LimitedBody extends FilterInputStream implements Abortable {
        /**
         * Bytes of an unread body that closing reads to reuse the connection; a longer body is
         * aborted.
         */
        private static final int MAX_REST = 4 << 10;

        private final ResponseSizeLimit limit;

        LimitedBody(InputStream body, ResponseSizeLimit limit) {
            super(body);
            this.limit = limit;
        }

        @Override
        public int read() throws IOException {
            int value = super.read();
            count(value < 0 ? 0 : 1);
            return value;
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            int read = super.read(into, offset, length);
            count(read);
            return read;
        }

        private void count(int bytes) throws IOException {
            try {
                limit.add(bytes);
            } catch (IOException e) {
                abort();
                throw e;
            }
        }

        @Override
        public void abort() {
            if (in instanceof Abortable abortable) {
                abortable.abort();
            }
        }

        @Override
        public void close() throws IOException {
            if (hasEnded()) {
                in.close();
            } else {
                abort(); // the client's close would read the rest, of any length
            }
        }

        private boolean hasEnded() {
            try {
                return in.readNBytes(MAX_REST).length < MAX_REST;
            } catch (IOException e) {
                return false;
            }
        }
    }
}
