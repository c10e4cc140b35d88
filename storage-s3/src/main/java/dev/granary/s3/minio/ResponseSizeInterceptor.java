package dev.granary.s3.minio;

import dev.granary.s3.store.TrafficCounter;
import dev.granary.s3.transport.ResponseSizeLimit;

import okhttp3.Interceptor;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.ResponseBody;

import okio.Buffer;
import okio.ForwardingSource;
import okio.Okio;

import java.io.IOException;

/**
 * Limits the size of all responses except objects, which {@code BoundedBodyReader} limits: the
 * MinIO client buffers them completely. Also counts the bytes of all.
 */
final class ResponseSizeInterceptor implements Interceptor {
    private final TrafficCounter traffic;

    ResponseSizeInterceptor(TrafficCounter traffic) {
        this.traffic = traffic;
    }

    @Override
    public Response intercept(Chain chain) throws IOException {
        Response response = chain.proceed(chain.request());
        ResponseSizeLimit limit = new ResponseSizeLimit(
                response.code(), isObject(chain.request(), response), traffic);
        return response.newBuilder().body(limited(response.body(), limit)).build();
    }

    private static boolean isObject(Request request, Response response) {
        return response.isSuccessful()
                && request.method().equals("GET")
                && request.url().queryParameter("list-type") == null;
    }

    /** Returns a body that throws an exception if it is too long. */
    private static ResponseBody limited(ResponseBody body, ResponseSizeLimit limit) {
        ForwardingSource source = new ForwardingSource(body.source()) {
            @Override
            public long read(Buffer into, long bytes) throws IOException {
                long read = super.read(into, bytes);
                limit.add(read);
                return read;
            }
        };
        return ResponseBody.create(Okio.buffer(source), body.contentType(), body.contentLength());
    }
}
