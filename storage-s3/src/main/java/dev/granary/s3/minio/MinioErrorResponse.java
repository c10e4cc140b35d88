package dev.granary.s3.minio;

import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.s3.transport.ResponseClassifier;

import io.minio.errors.ErrorResponseException;
import io.minio.errors.InvalidResponseException;
import io.minio.errors.MinioException;
import io.minio.errors.ServerException;

import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Content of an exception of the MinIO client: a response of the server, or none. */
sealed interface MinioErrorResponse {
    /** The server responded. */
    record Status(int status, String code, String message) implements MinioErrorResponse {}

    /** No readable response arrived. */
    record None(MinioException thrown) implements MinioErrorResponse {}

    /** The client reports the status of a response that is not XML only in its message. */
    Pattern STATUS_IN_MESSAGE = Pattern.compile("[Rr]esponse code: (\\d{3})");

    static MinioErrorResponse of(MinioException thrown) {
        return switch (thrown) {
            case ErrorResponseException response ->
                new Status(
                        response.response().code(),
                        Objects.requireNonNullElse(response.errorResponse().code(), ""),
                        Objects.requireNonNullElse(
                                response.errorResponse().message(),
                                ResponseClassifier.withoutMessage(
                                        response.response().code())));
            case ServerException response -> withoutMessage(response.statusCode());
            case InvalidResponseException invalid -> {
                Matcher status = STATUS_IN_MESSAGE.matcher(String.valueOf(invalid.getMessage()));
                yield status.find()
                        ? withoutMessage(Integer.parseInt(status.group(1)))
                        : new None(invalid);
            }
            default -> new None(thrown);
        };
    }

    private static Status withoutMessage(int status) {
        return new Status(status, "", ResponseClassifier.withoutMessage(status));
    }

    /** Returns true if the object, and not the bucket, is missing. */
    default boolean isAbsent() {
        return this instanceof Status response
                && ResponseClassifier.isAbsent(response.status(), response.code());
    }

    /** Returns the result of a conditional write or deletion. */
    default WriteResult write() {
        return switch (this) {
            case Status response ->
                ResponseClassifier.write(response.status(), response.code(), response.message());
            case None none -> WriteResult.failed(ResponseClassifier.failure(none.thrown()));
        };
    }

    /** Returns the result of a write without a condition. */
    default WriteResult plainWrite() {
        return switch (this) {
            case Status response ->
                ResponseClassifier.plainWrite(
                        response.status(), response.code(), response.message());
            case None none -> WriteResult.failed(ResponseClassifier.failure(none.thrown()));
        };
    }

    /** Returns the failure of a read. */
    default StoreFailure failure() {
        return switch (this) {
            case Status response ->
                ResponseClassifier.failure(response.status(), response.code(), response.message());
            case None none -> ResponseClassifier.failure(none.thrown());
        };
    }
}
