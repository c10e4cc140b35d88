package dev.granary.s3.minio;

import okhttp3.MediaType;
import okhttp3.ResponseBody;

import okio.BufferedSource;
import okio.Okio;
import okio.Source;

import org.jspecify.annotations.Nullable;

/** A response body whose bytes pass through another source. */
final class ForwardedBody extends ResponseBody {
    private final ResponseBody body;
    private final BufferedSource source;

    /**
     * Creates a body.
     *
     * @param source reads the bytes of {@code body}
     */
    ForwardedBody(ResponseBody body, Source source) {
        this.body = body;
        this.source = Okio.buffer(source);
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
