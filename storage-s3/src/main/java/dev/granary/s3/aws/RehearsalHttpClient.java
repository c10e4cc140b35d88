package dev.granary.s3.aws;

import static java.nio.charset.StandardCharsets.UTF_8;

import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.HttpExecuteResponse;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.SdkHttpResponse;

import java.io.ByteArrayInputStream;

/**
 * An HTTP client that answers a request for {@link #KEY} itself, as a server without that object
 * does. So the SDK's code for a request, which takes a new JVM some 60 ms, runs before the first
 * request is sent.
 */
final class RehearsalHttpClient implements SdkHttpClient {
    /** The key of an object that is never requested: keys have no question mark. */
    static final String KEY = "?rehearsal";

    private static final String PATH_END = "/%3Frehearsal";
    private static final byte[] ABSENT = "<Error><Code>NoSuchKey</Code></Error>".getBytes(UTF_8);

    private final SdkHttpClient http;

    RehearsalHttpClient(SdkHttpClient http) {
        this.http = http;
    }

    /** Returns true if the request is for {@link #KEY}. */
    static boolean isRehearsal(SdkHttpRequest request) {
        return request.encodedPath().endsWith(PATH_END);
    }

    @Override
    public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
        return isRehearsal(request.httpRequest()) ? new Rehearsal() : http.prepareRequest(request);
    }

    @Override
    public String clientName() {
        return http.clientName();
    }

    @Override
    public void close() {
        http.close();
    }

    /** A request that is answered without a server. */
    private static final class Rehearsal implements ExecutableHttpRequest {
        @Override
        public HttpExecuteResponse call() {
            return HttpExecuteResponse.builder()
                    .response(SdkHttpResponse.builder().statusCode(404).build())
                    .responseBody(AbortableInputStream.create(new ByteArrayInputStream(ABSENT)))
                    .build();
        }

        @Override
        public void abort() {}
    }
}
