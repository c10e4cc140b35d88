package dev.granary.s3.minio;

import dev.granary.s3.store.ServerTimestamps;
import java.io.IOException;
import java.util.Locale;
import java.util.Set;
import okhttp3.Headers;
import okhttp3.Interceptor;
import okhttp3.Response;

/**
 * Puts the headers into answers that the MinIO client takes for granted: it ends in a {@code NullPointerException} without {@code ETag} or
 * {@code Last-Modified}, and then leaves the connection open. What is put in means "not told" to the callers. Headers of S3 that nobody here reads are
 * taken off, since the client fails an answer for those of them that it cannot parse.
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

    /** The length that the head of an answer tells, in bytes; -1 where it tells none. */
    static long length(Headers headers) {
        String length = headers.get(LENGTH);
        try {
            return length == null ? -1 : Math.max(-1, Long.parseLong(length));
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}
