package dev.granary.s3.minio;

import okhttp3.Connection;
import okhttp3.Interceptor;
import okhttp3.Response;

import java.io.IOException;

/**
 * Closes a connection after a chunked response to a HEAD request.
 *
 * <p>Such a response has no body, but some servers (OpenStack Swift 2.30, for an absent object)
 * send the last chunk nevertheless. OkHttp would parse it as the start of the next response on the
 * connection.
 */
final class ChunkedHeadInterceptor implements Interceptor {
    @Override
    public Response intercept(Chain chain) throws IOException {
        Response response = chain.proceed(chain.request());
        Connection connection = chain.connection();
        if (connection != null
                && chain.request().method().equals("HEAD")
                && "chunked".equalsIgnoreCase(response.header("Transfer-Encoding"))) {
            connection.socket().close(); // the pool does not hand out a closed one
        }
        return response;
    }
}
