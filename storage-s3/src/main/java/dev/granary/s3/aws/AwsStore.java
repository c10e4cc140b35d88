package dev.granary.s3.aws;

import dev.granary.s3.store.ConnectionOption;
import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.s3.transport.BoundedBodyReader;
import dev.granary.s3.transport.ListingGuard;
import dev.granary.s3.transport.ResponseClassifier;

import org.jspecify.annotations.Nullable;

import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.awscore.exception.AwsErrorDetails;
import software.amazon.awssdk.core.SdkResponse;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.core.sync.ResponseTransformer;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.SdkHttpResponse;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.DeleteObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Request;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Response;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.S3Exception;
import software.amazon.awssdk.services.s3.model.S3Object;
import software.amazon.awssdk.services.s3.model.ServerSideEncryption;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One bucket through the AWS SDK's synchronous client. Every exception becomes a result, including
 * those of the SDK's parts, which it does not wrap.
 */
final class AwsStore implements ObjectStore {
    private static final WriteResult DELETED = new WriteResult.Done("");
    private static final String TYPE = "application/octet-stream";

    private final S3Client client;
    private final SdkHttpClient http;
    private final AwsCredentialsProvider credentials;
    private final ConnectionSettings connection;
    private final String bucket;

    /** Takes ownership of both: the client does not close an HTTP client that was passed to it. */
    AwsStore(
            S3Client client,
            SdkHttpClient http,
            AwsCredentialsProvider credentials,
            ConnectionSettings connection) {
        this.client = client;
        this.http = http;
        this.credentials = credentials;
        this.connection = connection;
        this.bucket = connection.bucket();
    }

    @Override
    public void prepare() {
        credentials.resolveCredentials();
        // what a first lookup does: neither request is sent
        get(RehearsalHttpClient.KEY, 0);
        putIfAbsent(RehearsalHttpClient.KEY, new byte[0]);
    }

    @Override
    public GetResult get(String key, long limit) {
        return read(
                GetObjectRequest.builder().bucket(bucket).key(key).build(),
                limit,
                (body, declared) -> BoundedBodyReader.read(body, declared, limit));
    }

    @Override
    public Optional<GetResult> getIfChanged(String key, String etag, long limit) {
        GetResult read = read(
                GetObjectRequest.builder()
                        .bucket(bucket)
                        .key(key)
                        .ifNoneMatch("\"" + etag + "\"")
                        .build(),
                limit,
                (body, declared) -> BoundedBodyReader.read(body, declared, limit));
        return ResponseClassifier.ifChanged(read, etag);
    }

    @Override
    public GetResult range(String key, long offset, int length, byte[] into) {
        return read(
                rangeRequest(key, offset, length),
                length,
                (body, _) -> BoundedBodyReader.readInto(body, into, length));
    }

    @Override
    public GetResult range(String key, long offset, int length) {
        return read(
                rangeRequest(key, offset, length),
                length,
                (body, _) -> BoundedBodyReader.read(body, length, length));
    }

    private GetObjectRequest rangeRequest(String key, long offset, int length) {
        return GetObjectRequest.builder()
                .bucket(bucket)
                .key(key)
                .range("bytes=" + offset + "-" + (offset + length - 1))
                .build();
    }

    /**
     * Reads a body of the length that the server declares; returns null if it exceeds the limit.
     */
    private interface Reader {
        @Nullable
        MemorySegment read(InputStream body, long declared) throws IOException;
    }

    private GetResult read(GetObjectRequest request, long limit, Reader reader) {
        try {
            return client.getObject(request, bounded(limit, reader));
        } catch (RuntimeException e) {
            StoreFailure failure = failure(e);
            return ResponseClassifier.isAbsent(failure)
                    ? new GetResult.Absent(date(e))
                    : new GetResult.Unavailable(failure);
        }
    }

    private static ResponseTransformer<GetObjectResponse, GetResult> bounded(
            long limit, Reader reader) {
        return (response, body) -> {
            Long length = response.contentLength();
            MemorySegment bytes = null;
            try {
                bytes = reader.read(body, length == null ? -1 : length);
            } finally {
                if (bytes == null) { // otherwise closing would read to the end
                    body.abort();
                }
            }
            return bytes == null
                    ? new GetResult.TooLarge(limit)
                    : new GetResult.Found(bytes, unquoted(response.eTag()), dates(response));
        };
    }

    @Override
    public HeadResult head(String key) {
        try {
            HeadObjectResponse answer =
                    client.headObject(request -> request.bucket(bucket).key(key));
            Long length = answer.contentLength();
            if (length == null || length < 0) {
                return new HeadResult.Unavailable(ResponseClassifier.withoutLength());
            }
            return new HeadResult.Found(length, unquoted(answer.eTag()), dates(answer));
        } catch (RuntimeException e) {
            StoreFailure failure = failure(e);
            return ResponseClassifier.isAbsent(failure)
                    ? HeadResult.ABSENT
                    : new HeadResult.Unavailable(failure);
        }
    }

    @Override
    public WriteResult put(String key, byte[] body) {
        return put(request(key, body), body, ResponseClassifier::plainWrite);
    }

    @Override
    public WriteResult putIfAbsent(String key, byte[] body) {
        return put(request(key, body).ifNoneMatch("*"), body, ResponseClassifier::write);
    }

    @Override
    public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
        return put(request(key, body).ifMatch(etag), body, ResponseClassifier::write);
    }

    private WriteResult put(
            PutObjectRequest.Builder request,
            byte[] body,
            Function<StoreFailure, WriteResult> refusal) {
        try {
            return ResponseClassifier.written(
                    unquoted(client.putObject(request.build(), content(body)).eTag()));
        } catch (RuntimeException e) {
            return refusal.apply(failure(e));
        }
    }

    @Override
    public WriteResult deleteIfMatch(String key, String etag) {
        return delete(request -> request.bucket(bucket).key(key).ifMatch(etag));
    }

    @Override
    public WriteResult delete(String key) {
        WriteResult result = delete(request -> request.bucket(bucket).key(key));
        return result instanceof WriteResult.PreconditionFailed ? DELETED : result;
    }

    private WriteResult delete(Consumer<DeleteObjectRequest.Builder> request) {
        try {
            client.deleteObject(request);
            return DELETED;
        } catch (RuntimeException e) {
            return ResponseClassifier.write(failure(e));
        }
    }

    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        ListingGuard guard = new ListingGuard();
        long count = 0;
        String next = null;
        boolean isMore;
        do {
            ListObjectsV2Response page;
            try {
                page = client.listObjectsV2(ListObjectsV2Request.builder()
                        .bucket(bucket)
                        .prefix(prefix)
                        .continuationToken(next)
                        .build());
            } catch (RuntimeException e) {
                return new ListResult.Unavailable(failure(e));
            }
            // the SDK parses any response with status 200 as an empty listing
            if (page.isTruncated() == null) {
                return new ListResult.Unavailable(StoreFailure.of(
                        StoreFailure.Kind.BROKEN,
                        "a listing without an end mark: is this an S3 server?"));
            }
            int onPage = 0;
            for (S3Object object : page.contents()) {
                if (object.key() != null && object.key().startsWith(prefix)) {
                    visitor.accept(listed(object));
                    onPage++;
                }
            }
            count += onPage;
            next = page.nextContinuationToken();
            Optional<StoreFailure> failure =
                    page.isTruncated() ? guard.recordPage(onPage, next) : Optional.empty();
            if (failure.isPresent()) {
                return new ListResult.Unavailable(failure.get());
            }
            isMore = page.isTruncated();
        } while (isMore);
        return new ListResult.Complete(count);
    }

    private static Listed listed(S3Object object) {
        return new Listed(
                object.key(),
                object.size() == null ? 0 : Math.max(0, object.size()),
                unquoted(object.eTag()),
                ServerTimestamps.millis(object.lastModified()));
    }

    @Override
    public void close() {
        client.close();
        http.close();
    }

    private static RequestBody content(byte[] body) {
        return RequestBody.fromContentProvider(
                ContentStreamProvider.fromByteArrayUnsafe(body), body.length, TYPE);
    }

    private PutObjectRequest.Builder request(String key, byte[] body) {
        Duration timeout = connection.putTimeout(body.length);
        PutObjectRequest.Builder request = PutObjectRequest.builder()
                .overrideConfiguration(
                        limits -> limits.apiCallTimeout(timeout).apiCallAttemptTimeout(timeout))
                .bucket(bucket)
                .key(key)
                .contentType(TYPE);
        connection.option(ConnectionOption.KMS).ifPresent(kmsKey -> request.serverSideEncryption(
                        ServerSideEncryption.AWS_KMS)
                .ssekmsKeyId(kmsKey)
                .bucketKeyEnabled(true));
        return request;
    }

    private static ServerTimestamps dates(SdkResponse response) {
        SdkHttpResponse http = response.sdkHttpResponse();
        return ServerTimestamps.ofHeaders(
                http.firstMatchingHeader("Last-Modified").orElse(null),
                http.firstMatchingHeader("Date").orElse(null));
    }

    private static long date(RuntimeException thrown) {
        AwsErrorDetails details = details(thrown);
        return details == null || details.sdkHttpResponse() == null
                ? 0
                : ServerTimestamps.ofHeaders(
                                null,
                                details.sdkHttpResponse()
                                        .firstMatchingHeader("Date")
                                        .orElse(null))
                        .nowMillis();
    }

    private static String unquoted(@Nullable String etag) {
        return etag == null ? "" : etag.replace("\"", "");
    }

    private static StoreFailure failure(RuntimeException thrown) {
        AwsErrorDetails details = details(thrown);
        return thrown instanceof S3Exception answer
                ? ResponseClassifier.failure(
                        answer.statusCode(),
                        details == null ? null : details.errorCode(),
                        details == null ? null : details.errorMessage())
                : ResponseClassifier.failure(thrown);
    }

    private static @Nullable AwsErrorDetails details(RuntimeException thrown) {
        return thrown instanceof S3Exception answer ? answer.awsErrorDetails() : null;
    }
}
