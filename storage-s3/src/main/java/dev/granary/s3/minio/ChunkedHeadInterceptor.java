package dev.granary.s3.minio;

import java.io.IOException;
import okhttp3.Connection;
import okhttp3.Interceptor;
import okhttp3.Response;

/**
 * Ends a connection after the answer to a HEAD that announces chunks. There must be none, but servers are known (OpenStack Swift 2.30, for an
 * absent object) that send the last one nevertheless; OkHttp would read it as the beginning of the next answer on this connection.
 */
final class ChunkedHeadInterceptor implements Interceptor {
    @Override
    public Response intercept(Chain chain) throws IOException {
        Response response = chain.proceed(chain.request());
        Connection connection = chain.connection();
        if (connection != null && chain.request().method().equals("HEAD") && "chunked".equalsIgnoreCase(response.header("Transfer-Encoding"))) {
            connection.socket().close(); // the pool does not hand out a closed one
        }
        return response;
    }
}
