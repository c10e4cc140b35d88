package dev.granary.s3.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.store.Failure.Kind;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What exceptions and answers mean. */
class AnswersTest {
    @Test
    @DisplayName("an exception is told by what lies at its bottom")
    void exceptions() {
        Map<Throwable, Kind> meanings = Map.of(
                new UnknownHostException("minio"), Kind.UNREACHABLE,
                new ConnectException("Connection refused"), Kind.UNREACHABLE,
                new SocketTimeoutException("Connect timed out"), Kind.UNREACHABLE,
                new SocketTimeoutException("Read timed out"), Kind.TIMEOUT,
                new SocketException("Connection reset"), Kind.BROKEN,
                new SocketException("Socket closed"), Kind.TIMEOUT,
                new EOFException("closed"), Kind.BROKEN,
                new MissingCredentialsException(new IOException("nowhere")), Kind.DENIED,
                new IllegalStateException("closed"), Kind.BROKEN);
        meanings.forEach((thrown, kind) -> {
            assertEquals(kind, Answers.failure(thrown).kind(), thrown::toString);
            assertEquals(kind, Answers.failure(new IllegalArgumentException("around", thrown)).kind(), thrown::toString);
            assertEquals(kind, Answers.failure(new UncheckedIOException(new IOException(thrown))).kind(), thrown::toString);
        });
    }

    @Test
    @DisplayName("a message is one line of bounded length")
    void messages() {
        Failure failure = Answers.failure(500, "InternalError", "a\nb\r\n\tc" + "x".repeat(1000));
        assertTrue(failure.message().startsWith("a b c") && failure.message().length() < 250, failure::message);
        assertEquals("500 InternalError: " + failure.message(), failure.toString());
    }

    @Test
    @DisplayName("a success without an ETag is unknown; marks that are not hexadecimal are none")
    void strange() {
        assertInstanceOf(WriteResult.Unknown.class, Answers.written(""));
        assertEquals(new WriteResult.Done("e"), Answers.written("e"));
        assertEquals(new Marks("", "ab"), Marks.ofStored("not hex", "ab"));
    }

    @Test
    @DisplayName("no kind of failure is both worth another try and never sent")
    void kinds() {
        for (Kind kind : Kind.values()) {
            Failure failure = Failure.of(kind, "");
            assertFalse(failure.isTransient() && failure.isUnsent(), kind::toString);
            assertEquals(failure.isUnsent(), WriteResult.failed(failure) instanceof WriteResult.NotSent, kind::toString);
            assertEquals(failure.isTransient(), WriteResult.failed(failure) instanceof WriteResult.Unknown, kind::toString);
        }
    }
}
