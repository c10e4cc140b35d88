package dev.granary.s3.minio;

import dev.granary.s3.store.ServerTimestamps;
import java.io.IOException;
import java.util.Locale;
import java.util.Set;
import okhttp3.Headers;
import okhttp3.Interceptor;
import okhttp3.Response;

/**
 * Adds headers to responses that the MinIO client requires, and removes unused ones.
 *
 * <p>Without {@code ETag} or {@code Last-Modified} the client throws a {@code NullPointerException}
 * and leaks the connection. The added values mean "absent" to our callers. Unused headers of S3 are
 * removed, since the client fails a response for those that it cannot parse.
 */
final class MissingHeaderInterceptor implements Interceptor {
    private static final Set<String> READ = Set.of("x-amz-request-id", "x-amz-id-2", "x-amz-bucket-region");
    private static final String OURS = "x-amz-meta-granary-";
    private static final String LENGTH = "Content-Length";
    private static final String ETAG = "ETag";
    private static final String LAST_MODIFIED = "Last-Modified";
    private static final String NOT_TOLD = "Thu, 01 Jan 1970 00:00:00 GMT";

    @Override
    public Response intercept(Chain chain) throws IOException {
        Response answer = chain.proceed(chain.request());
        Response.Builder whole = answer.newBuilder();
        for (String name : answer.headers().names()) {
            String lower = name.toLowerCase(Locale.ROOT);
            if (lower.startsWith("x-amz-") && !READ.contains(lower) && !lower.startsWith(OURS)) {
                whole.removeHeader(name);
            }
        }
        if (answer.header(ETAG) == null) {
            whole.header(ETAG, "");
        }
        if (ServerTimestamps.ofHeaders(answer.header(LAST_MODIFIED), null).lastModifiedMillis() == 0) {
            whole.header(LAST_MODIFIED, NOT_TOLD);
        }
        if (chain.request().method().equals("HEAD") && length(answer.headers()) < 0) {
            whole.header(LENGTH, "0");
        }
        return whole.build();
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
