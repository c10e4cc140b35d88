package dev.granary.s3.minio;

import dev.granary.s3.store.ServerTimestamps;

import okhttp3.Headers;
import okhttp3.Interceptor;
import okhttp3.Response;

import java.io.IOException;
import java.util.Locale;
import java.util.Set;

/**
 * Adds headers to responses that the MinIO client requires, and removes unused ones.
 *
 * <p>Without {@code ETag} or {@code Last-Modified} the client throws a {@code NullPointerException}
 * and leaks the connection. The added values mean "absent" to our callers. Unused headers of S3 are
 * removed, since the client fails a response for those that it cannot parse.
 */
final class MissingHeaderInterceptor implements Interceptor {
    private static final Set<String> USED_HEADERS =
            Set.of("x-amz-request-id", "x-amz-id-2", "x-amz-bucket-region");
    private static final String LENGTH = "Content-Length";
    private static final String UNKNOWN_LENGTH = "-1";
    private static final String ETAG = "ETag";
    private static final String LAST_MODIFIED = "Last-Modified";
    private static final String UNKNOWN_DATE = "Thu, 01 Jan 1970 00:00:00 GMT";

    @Override
    public Response intercept(Chain chain) throws IOException {
        Response response = chain.proceed(chain.request());
        Response.Builder completed = response.newBuilder();
        for (String name : response.headers().names()) {
            String lower = name.toLowerCase(Locale.ROOT);
            if (lower.startsWith("x-amz-") && !USED_HEADERS.contains(lower)) {
                completed.removeHeader(name);
            }
        }
        if (response.header(ETAG) == null) {
            completed.header(ETAG, "");
        }
        if (ServerTimestamps.ofHeaders(response.header(LAST_MODIFIED), null).lastModifiedMillis()
                == 0) {
            completed.header(LAST_MODIFIED, UNKNOWN_DATE);
        }
        if (chain.request().method().equals("HEAD") && length(response.headers()) < 0) {
            completed.header(LENGTH, UNKNOWN_LENGTH);
        }
        return completed.build();
    }

    /** Returns the length that the response declares, in bytes; -1 if it declares none. */
    static long length(Headers headers) {
        String length = headers.get(LENGTH);
        try {
            return length == null ? -1 : Math.max(-1, Long.parseLong(length));
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}
