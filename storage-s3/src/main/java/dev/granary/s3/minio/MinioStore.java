package dev.granary.s3.minio;

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

import io.minio.GetObjectArgs;
import io.minio.GetObjectResponse;
import io.minio.ListObjectsV2Args;
import io.minio.MinioAsyncClient;
import io.minio.MinioClient;
import io.minio.PutObjectArgs;
import io.minio.RemoveObjectArgs;
import io.minio.StatObjectArgs;
import io.minio.StatObjectResponse;
import io.minio.errors.ErrorResponseException;
import io.minio.errors.InvalidResponseException;
import io.minio.errors.MinioException;
import io.minio.errors.ServerException;
import io.minio.messages.Item;
import io.minio.messages.ListBucketResultV2;

import okhttp3.Headers;
import okhttp3.OkHttpClient;

import org.jspecify.annotations.Nullable;

import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One bucket through the MinIO client. */
final class MinioStore implements ObjectStore {
    private static final WriteResult DELETED = new WriteResult.Done("");

    private static final int LARGE_BYTES = 1 << 20;

    /** The client reports the status of a response that is not XML only in its message. */
    private static final Pattern STATUS_IN_MESSAGE = Pattern.compile("[Rr]esponse code: (\\d{3})");

    private final Function<Duration, MinioClient> clients; // by the limit of a call
    private final MinioClient client;
    private final MinioAsyncClient listClient; // returns single pages, which client does not
    private final OkHttpClient http;
    private final AwsCredentialsProvider credentials;
    private final ConnectionSettings connection;
    private final String bucket;

    MinioStore(
            Function<Duration, MinioClient> clients,
            MinioAsyncClient listClient,
            OkHttpClient http,
            AwsCredentialsProvider credentials,
            ConnectionSettings connection) {
        this.credentials = credentials;
        this.clients = clients;
        this.client = clients.apply(connection.requestTimeout());
        this.listClient = listClient;
        this.http = http;
        this.connection = connection;
        this.bucket = connection.bucket();
    }

    @Override
    public void prepare() {
        credentials.resolveCredentials();
    }

    @Override
    public GetResult get(String key, long limit) {
        return read(GetObjectArgs.builder().bucket(bucket).object(key).build(), limit, response -> {
            return BoundedBodyReader.read(
                    response, MissingHeaderInterceptor.length(response.headers()), limit);
        });
    }

    @Override
    public Optional<GetResult> getIfChanged(String key, String etag, long limit) {
        GetResult read = read(
                GetObjectArgs.builder()
                        .bucket(bucket)
                        .object(key)
                        .notMatchETag(etag)
                        .build(),
                limit,
                response -> BoundedBodyReader.read(
                        response, MissingHeaderInterceptor.length(response.headers()), limit));
        return ResponseClassifier.ifChanged(read, etag);
    }

    @Override
    public GetResult range(String key, long offset, int length, byte[] into) {
        return read(
                rangeArguments(key, offset, length),
                length,
                response -> BoundedBodyReader.readInto(response, into, length));
    }

    @Override
    public GetResult range(String key, long offset, int length) {
        return read(
                rangeArguments(key, offset, length),
                length,
                response -> BoundedBodyReader.read(response, length, length));
    }

    private GetObjectArgs rangeArguments(String key, long offset, int length) {
        return GetObjectArgs.builder()
                .bucket(bucket)
                .object(key)
                .offset(offset)
                .length((long) length)
                .build();
    }

    /** Reads a body; returns null if it exceeds the limit. */
    private interface Reader {
        @Nullable
        MemorySegment read(GetObjectResponse response) throws IOException;
    }

    private GetResult read(GetObjectArgs request, long limit, Reader reader) {
        try (GetObjectResponse response = client.getObject(request)) {
            Headers headers = response.headers();
            MemorySegment bytes = reader.read(response);
            return bytes == null
                    ? new GetResult.TooLarge(limit)
                    : new GetResult.Found(bytes, unquoted(headers.get("ETag")), dates(headers));
        } catch (MinioException | IOException | RuntimeException e) {
            StoreFailure failure = failure(e);
            return ResponseClassifier.isAbsent(failure)
                    ? new GetResult.Absent(date(e))
                    : new GetResult.Unavailable(failure);
        }
    }

    @Override
    public HeadResult head(String key) {
        try {
            StatObjectResponse response = client.statObject(
                    StatObjectArgs.builder().bucket(bucket).object(key).build());
            if (response.size() < 0) {
                return new HeadResult.Unavailable(ResponseClassifier.withoutLength());
            }
            return new HeadResult.Found(
                    response.size(), unquoted(response.etag()), dates(response.headers()));
        } catch (MinioException | RuntimeException e) {
            StoreFailure failure = failure(e);
            return ResponseClassifier.isAbsent(failure)
                    ? HeadResult.ABSENT
                    : new HeadResult.Unavailable(failure);
        }
    }

    @Override
    public WriteResult put(String key, byte[] body) {
        return put(key, body, Map.of(), ResponseClassifier::plainWrite);
    }

    @Override
    public WriteResult putIfAbsent(String key, byte[] body) {
        return put(key, body, Map.of("If-None-Match", "*"), ResponseClassifier::write);
    }

    @Override
    public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
        return put(key, body, Map.of("If-Match", etag), ResponseClassifier::write);
    }

    private WriteResult put(
            String key,
            byte[] body,
            Map<String, String> condition,
            Function<StoreFailure, WriteResult> refusal) {
        MinioClient sender = body.length < LARGE_BYTES
                ? client
                : clients.apply(connection.putTimeout(body.length));
        Map<String, String> headers = new HashMap<>(condition);
        connection.option(ConnectionOption.KMS).ifPresent(kmsKey -> {
            headers.put("x-amz-server-side-encryption", "aws:kms");
            headers.put("x-amz-server-side-encryption-aws-kms-key-id", kmsKey);
            headers.put("x-amz-server-side-encryption-bucket-key-enabled", "true");
        });
        try {
            return ResponseClassifier.written(unquoted(sender.putObject(PutObjectArgs.builder()
                            .bucket(bucket)
                            .object(key)
                            .data(body, body.length)
                            .contentType("application/octet-stream")
                            .extraHeaders(headers)
                            .build())
                    .etag()));
        } catch (MinioException | RuntimeException e) {
            return refusal.apply(failure(e));
        }
    }

    @Override
    public WriteResult deleteIfMatch(String key, String etag) {
        return delete(key, Map.of("If-Match", etag));
    }

    @Override
    public WriteResult delete(String key) {
        WriteResult result = delete(key, Map.of());
        return result instanceof WriteResult.PreconditionFailed ? DELETED : result;
    }

    private WriteResult delete(String key, Map<String, String> condition) {
        try {
            client.removeObject(RemoveObjectArgs.builder()
                    .bucket(bucket)
                    .object(key)
                    .extraHeaders(condition)
                    .build());
            return DELETED;
        } catch (MinioException | RuntimeException e) {
            return ResponseClassifier.write(failure(e));
        }
    }

    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        ListingGuard guard = new ListingGuard();
        long count = 0;
        String next = null;
        do {
            List<Listed> page = new ArrayList<>();
            try {
                ListBucketResultV2 response = page(prefix, next);
                for (Item item : response.contents()) {
                    listed(item, response.encodingType())
                            .filter(object -> object.key().startsWith(prefix))
                            .ifPresent(page::add);
                }
                next = response.isTruncated()
                        ? Objects.requireNonNullElse(response.nextContinuationToken(), "")
                        : null;
            } catch (MinioException | RuntimeException e) {
                return new ListResult.Unavailable(failure(e));
            }
            page.forEach(visitor);
            count += page.size();
            Optional<StoreFailure> failure =
                    next == null ? Optional.empty() : guard.recordPage(page.size(), next);
            if (failure.isPresent()) {
                return new ListResult.Unavailable(failure.get());
            }
        } while (next != null);
        return new ListResult.Complete(count);
    }

    private ListBucketResultV2 page(String prefix, @Nullable String from) throws MinioException {
        try {
            return listClient
                    .listObjectsV2(ListObjectsV2Args.builder()
                            .bucket(bucket)
                            .prefix(prefix)
                            .encodingType("url")
                            .continuationToken(from)
                            .build())
                    .join()
                    .result();
        } catch (CompletionException e) {
            if (e.getCause() instanceof MinioException cause) {
                throw cause;
            }
            throw e;
        }
    }

    /** Returns empty for an item without a key. */
    private static Optional<Listed> listed(Item item, @Nullable String encoding) {
        item.setEncodingType(encoding);
        @Nullable String key = item.objectName();
        if (key == null) {
            return Optional.empty();
        }
        long modified = ServerTimestamps.millis(
                item.lastModified() == null ? null : item.lastModified().toInstant());
        return Optional.of(
                new Listed(key, Math.max(0, item.size()), unquoted(item.etag()), modified));
    }

    @Override
    public void close() {
        http.dispatcher().executorService().shutdown();
        http.connectionPool().evictAll();
    }

    private static ServerTimestamps dates(Headers headers) {
        return ServerTimestamps.ofHeaders(headers.get("Last-Modified"), headers.get("Date"));
    }

    /** Returns the failure of a request; the client does not wrap exceptions of its parts. */
    private static StoreFailure failure(Exception thrown) {
        return switch (thrown) {
            case ErrorResponseException answer ->
                ResponseClassifier.failure(
                        answer.response().code(),
                        answer.errorResponse().code(),
                        answer.errorResponse().message());
            case ServerException answer ->
                ResponseClassifier.failure(answer.statusCode(), null, null);
            case InvalidResponseException answer -> {
                Matcher status = STATUS_IN_MESSAGE.matcher(String.valueOf(answer.getMessage()));
                yield status.find()
                        ? ResponseClassifier.failure(Integer.parseInt(status.group(1)), null, null)
                        : ResponseClassifier.failure(answer);
            }
            default -> ResponseClassifier.failure(thrown);
        };
    }

    private static long date(Exception thrown) {
        return thrown instanceof ErrorResponseException answer
                ? ServerTimestamps.ofHeaders(null, answer.response().header("Date"))
                        .nowMillis()
                : 0;
    }

    private static String unquoted(@Nullable String etag) {
        return etag == null ? "" : etag.replace("\"", "");
    }
}
