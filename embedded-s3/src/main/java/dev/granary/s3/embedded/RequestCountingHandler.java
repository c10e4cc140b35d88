package dev.granary.s3.embedded;

import org.gaul.shaded.org.eclipse.jetty.server.Handler;
import org.gaul.shaded.org.eclipse.jetty.server.Request;
import org.gaul.shaded.org.eclipse.jetty.server.Response;
import org.gaul.shaded.org.eclipse.jetty.util.Callback;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Handler that counts every request before it is processed, and provides the condition of a write
 * during its processing.
 */
final class RequestCountingHandler extends Handler.Wrapper {
    /** The If-Match header of the PUT that this thread processes; unbound if there is none. */
    static final ScopedValue<String> IF_MATCH = ScopedValue.newInstance();

    private static final int GET = 0;
    private static final int HEAD = 1;
    private static final int PUT = 2;
    private static final int DELETE = 3;
    private static final int LIST = 4;
    private static final int OTHER = 5;

    private final AtomicLongArray counts = new AtomicLongArray(OTHER + 1);
    private final AtomicInteger active = new AtomicInteger();
    private final AtomicInteger maxActive = new AtomicInteger();

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        counts.incrementAndGet(kind(request.getMethod(), request.getHttpURI().getPath()));
        String ifMatch =
                request.getMethod().equals("PUT") ? request.getHeaders().get("If-Match") : null;
        maxActive.accumulateAndGet(active.incrementAndGet(), Math::max);
        try { // S3Proxy responds before it returns
            return ifMatch == null
                    ? super.handle(request, response, callback)
                    : ScopedValue.where(IF_MATCH, ifMatch)
                            .call(() -> super.handle(request, response, callback));
        } finally {
            active.decrementAndGet();
        }
    }

    int maxActive() {
        return maxActive.get();
    }

    ServerRequestCounts counts() {
        return new ServerRequestCounts(
                counts.get(GET),
                counts.get(HEAD),
                counts.get(PUT),
                counts.get(DELETE),
                counts.get(LIST),
                counts.get(OTHER));
    }

    void reset() {
        for (int i = 0; i <= OTHER; i++) {
            counts.set(i, 0);
        }
        maxActive.set(active.get());
    }

    private static int kind(String method, String path) {
        return switch (method) {
            case "GET" -> namesObject(path) ? GET : LIST;
            case "HEAD" -> HEAD;
            case "PUT" -> PUT;
            case "DELETE" -> DELETE;
            default -> OTHER;
        };
    }

    /** Returns true for {@code /bucket/key}, false for {@code /bucket} and {@code /bucket/}. */
    private static boolean namesObject(String path) {
        int slash = path.indexOf('/', 1);
        return slash > 0 && slash < path.length() - 1;
    }
}
