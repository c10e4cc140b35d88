package dev.granary.s3.minio;

import dev.granary.s3.transport.ResponseSizeLimit;

import okhttp3.Interceptor;
import okhttp3.MediaType;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.ResponseBody;

import okio.Buffer;
import okio.BufferedSource;
import okio.ForwardingSource;
import okio.Okio;

import org.jspecify.annotations.Nullable;

import java.io.IOException;

/**
 * Limits the size of all responses except objects, which {@code BoundedBodyReader} limits: the
 * MinIO client buffers them completely.
 */
final class ResponseSizeInterceptor implements Interceptor {
    @Override
    public Response intercept(Chain chain) throws IOException {
        Response response = chain.proceed(chain.request());
        return isObject(chain.request(), response)
                ? response
                : response.newBuilder()
                        .body(new LimitedBody(response.body(), response.code()))
                        .build();
    }

    private static boolean isObject(Request request, Response response) {
        return response.isSuccessful()
                && request.method().equals("GET")
                && request.url().queryParameter("list-type") == null;
    }

    /** A body that throws an exception if it is too long. */
    private static final class LimitedBody extends ResponseBody {
        private final ResponseBody body;
        private final BufferedSource source;

        LimitedBody(ResponseBody body, int status) {
            this.body = body;
            ResponseSizeLimit limit = ResponseSizeLimit.ofStatus(status);
            this.source = Okio.buffer(new ForwardingSource(body.source()) {
                @Override
                public long read(Buffer into, long bytes) throws IOException {
                    long read = super.read(into, bytes);
                    limit.add(read);
                    return read;
                }
            });
        }

        @Override
        public @Nullable MediaType contentType() {
            return body.contentType();
        }

        @Override
        public long contentLength() {
            return body.contentLength();
        }

        @Override
        public BufferedSource source() {
            return source;
        }
    }
}
