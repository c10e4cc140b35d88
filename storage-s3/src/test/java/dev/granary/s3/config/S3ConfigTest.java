package dev.granary.s3.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.URI;
import java.time.Duration;

/** Tests of settings: valid ones are accepted, invalid ones are reported with the right form. */
class S3ConfigTest {
    @Test
    @DisplayName("locations are parsed and printed alike")
    void locations() {
        assertEquals(new S3Location("kernels", ""), S3Location.parse("s3://kernels"));
        assertEquals(new S3Location("kernels", ""), S3Location.parse("s3://kernels/"));
        assertEquals(
                new S3Location("kernels.a-b", "team/x_1"),
                S3Location.parse("s3://kernels.a-b/team/x_1/"));
        assertEquals("s3://kernels/team", S3Location.parse("s3://kernels/team").toString());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "kernels",
                "http://kernels",
                "s3:/kernels",
                "s3://",
                "s3://K",
                "s3://Kernels",
                "s3://a",
                "s3://ab/../c",
                "s3://kernels//x",
                "s3://kernels/x//",
                "s3://kernels/x y",
                "s3://kernels/\u00e4",
                "s3://-kernels"
            })
    @DisplayName("malformed locations are refused, with the right form in the message")
    void wrongLocations(String text) {
        String message = String.valueOf(
                assertThrows(IllegalArgumentException.class, () -> S3Location.parse(text))
                        .getMessage());
        assertTrue(message.contains("such as") || message.contains("Write s3://"), message);
    }

    @Test
    @DisplayName("invalid settings are refused, and credentials in an endpoint are not repeated")
    void wrongSettings() {
        S3ConfigBuilder builder = S3Config.builder("kernels");
        assertMessage("http", () -> builder.endpoint(URI.create("minio:9000")));
        assertMessage("http", () -> builder.endpoint(URI.create("ftp://minio")));
        String message = assertMessage(
                "AWS_ACCESS_KEY_ID",
                () -> builder.endpoint(URI.create("http://me:secret@minio:9000")));
        assertTrue(!message.contains("secret"), message);
        assertMessage("1 to 10000", () -> builder.maxConnections(0));
        assertMessage("above zero", () -> builder.requestTimeout(Duration.ZERO));
        assertMessage("zero or more", () -> builder.absentMemory(Duration.ofSeconds(-1)));
        assertMessage("below the request timeout", () -> S3Config.builder("kernels")
                .loadDeadline(Duration.ofSeconds(1))
                .build());
    }

    private static String assertMessage(String part, Executable executable) {
        String message = String.valueOf(
                assertThrows(IllegalArgumentException.class, executable).getMessage());
        assertTrue(message.contains(part), message);
        return message;
    }
}
