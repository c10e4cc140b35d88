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

/** What an exception of the MinIO client says: an answer of the server, or none. */
sealed interface MinioErrorResponse {
    /** The server answered. */
    record Status(int status, String code, String message) implements MinioErrorResponse {}

    /** No answer came that could be read. */
    record None(MinioException thrown) implements MinioErrorResponse {}

    /** The client tells the status of an answer that is not XML in its message only. */
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

    /** True where the object, and not the bucket, is missing. */
    default boolean isAbsent() {
        return this instanceof Status answer && ResponseClassifier.isAbsent(answer.status(), answer.code());
    }

    /** The outcome of a write. */
    default WriteResult write() {
        return switch (this) {
            case Status answer -> ResponseClassifier.write(answer.status(), answer.code(), answer.message());
            case None none -> WriteResult.failed(ResponseClassifier.failure(none.thrown()));
        };
    }

    /** The outcome of a write without a condition. */
    default WriteResult plainWrite() {
        return switch (this) {
            case Status answer -> ResponseClassifier.plainWrite(answer.status(), answer.code(), answer.message());
            case None none -> WriteResult.failed(ResponseClassifier.failure(none.thrown()));
        };
    }

    /** The failure of a read. */
    default StoreFailure failure() {
        return switch (this) {
            case Status answer -> ResponseClassifier.failure(answer.status(), answer.code(), answer.message());
            case None none -> ResponseClassifier.failure(none.thrown());
        };
    }
}
