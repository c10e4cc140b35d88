package dev.granary.s3.minio;

import dev.granary.s3.store.Answers;
import dev.granary.s3.store.Failure;
import dev.granary.s3.store.WriteResult;
import io.minio.errors.ErrorResponseException;
import io.minio.errors.InvalidResponseException;
import io.minio.errors.MinioException;
import io.minio.errors.ServerException;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What an exception of the MinIO client says: an answer of the server, or none. */
sealed interface MinioAnswer {
    /** The server answered. */
    record Status(int status, String code, String message) implements MinioAnswer {}

    /** No answer came that could be read. */
    record None(MinioException thrown) implements MinioAnswer {}

    /** The client tells the status of an answer that is not XML in its message only. */
    Pattern STATUS_IN_MESSAGE = Pattern.compile("[Rr]esponse code: (\\d{3})");

    static MinioAnswer of(MinioException thrown) {
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
        return this instanceof Status answer && Answers.isAbsent(answer.status(), answer.code());
    }

    /** The outcome of a write. */
    default WriteResult write() {
        return switch (this) {
            case Status answer -> Answers.write(answer.status(), answer.code(), answer.message());
            case None none -> WriteResult.failed(Answers.failure(none.thrown()));
        };
    }

    /** The outcome of a write without a condition. */
    default WriteResult plainWrite() {
        return switch (this) {
            case Status answer -> Answers.plainWrite(answer.status(), answer.code(), answer.message());
            case None none -> WriteResult.failed(Answers.failure(none.thrown()));
        };
    }

    /** The failure of a read. */
    default Failure failure() {
        return switch (this) {
            case Status answer -> Answers.failure(answer.status(), answer.code(), answer.message());
            case None none -> Answers.failure(none.thrown());
        };
    }
}
