package dev.granary.s3.minio;

import dev.granary.s3.store.ResponseClassifier;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
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
            case ErrorResponseException answer -> new Status(answer.response().code(),
                    Objects.requireNonNullElse(answer.errorResponse().code(), ""),
                    Objects.requireNonNullElse(answer.errorResponse().message(), "status " + answer.response().code()));
            case ServerException answer -> new Status(answer.statusCode(), "", "status " + answer.statusCode());
            case InvalidResponseException invalid -> {
                Matcher told = STATUS_IN_MESSAGE.matcher(String.valueOf(invalid.getMessage()));
                yield told.find()
                        ? new Status(Integer.parseInt(told.group(1)), "", "status " + told.group(1) + ", and not in the form of S3")
                        : new None(invalid);
            }
            default -> new None(thrown);
        };
    }

    /** Returns true if the object, and not the bucket, is missing. */
    default boolean isAbsent() {
        return this instanceof Status answer && ResponseClassifier.isAbsent(answer.status(), answer.code());
    }

    /** Returns the result of a conditional write or deletion. */
    default WriteResult write() {
        return switch (this) {
            case Status answer -> ResponseClassifier.write(answer.status(), answer.code(), answer.message());
            case None none -> WriteResult.failed(ResponseClassifier.failure(none.thrown()));
        };
    }

    /** Returns the result of a write without a condition. */
    default WriteResult plainWrite() {
        return switch (this) {
            case Status answer -> ResponseClassifier.plainWrite(answer.status(), answer.code(), answer.message());
            case None none -> WriteResult.failed(ResponseClassifier.failure(none.thrown()));
        };
    }

    /** Returns the failure of a read. */
    default StoreFailure failure() {
        return switch (this) {
            case Status answer -> ResponseClassifier.failure(answer.status(), answer.code(), answer.message());
            case None none -> ResponseClassifier.failure(none.thrown());
        };
    }
}
