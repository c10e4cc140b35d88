package dev.granary.s3.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.S3Exception;

import java.util.Set;
import java.util.UUID;
import java.util.function.UnaryOperator;

/**
 * Tests of server behaviour below the level of {@link ObjectStoreContract}, on which the transports
 * rely. Subclasses name a server; a new version of it that behaves differently fails here.
 */
public abstract class ServerFacts extends ServerChecks {
    private static final byte[] BODY = "a body".getBytes(UTF_8);
    private static final int DONE = 200;

    private final TestS3 server;
    private final S3Client client;
    private final String prefix = "facts-" + UUID.randomUUID() + "/";

    /** Creates the tests of that server. */
    protected ServerFacts(TestS3 server) {
        this.server = server;
        this.client = server.client();
    }

    @Override
    protected final Set<Deviation> deviations() {
        return server.deviations();
    }

    @AfterEach
    final void close() {
        client.close();
    }

    @Test
    @DisplayName("If-Match holds with the quoted ETag, as the server sent it")
    void quotedEtag() {
        put("quoted", request -> request);
        String quoted = '"'
                + client.headObject(
                                request -> request.bucket(server.bucket()).key(prefix + "quoted"))
                        .eTag()
                        .replace("\"", "")
                + '"';
        int status = put("quoted", request -> request.ifMatch(quoted));
        int unquoted = put("quoted", request -> request.ifMatch(quoted.replace("\"", "")));
        if (deviates(Deviation.CONDITIONAL_PUT_REFUSED)) {
            assertEquals(501, status);
            assertEquals(501, unquoted);
        } else {
            assertEquals(deviates(Deviation.QUOTED_ETAG_NEVER_MATCHES) ? 412 : DONE, status);
            assertEquals(DONE, unquoted);
        }
    }

    @Test
    @DisplayName("If-Match on an absent object is 404")
    void absent() {
        int status = put("absent", request -> request.ifMatch("0".repeat(32)));
        if (deviates(Deviation.CONDITIONAL_PUT_REFUSED)) {
            assertEquals(501, status);
        } else {
            assertEquals(deviates(Deviation.ABSENT_IS_PRECONDITION) ? 412 : 404, status);
        }
    }

    @Test
    @DisplayName("a body in the AWS SDK's default framing is stored without it")
    void framing() {
        try (S3Client untuned = server.untunedClient()) {
            int status = status(
                    () -> untuned.putObject(object("framed").build(), RequestBody.fromBytes(BODY)));
            if (deviates(Deviation.SDK_FRAMING_REFUSED)) {
                assertTrue(status == 400 || status == 501, () -> "status " + status);
                return;
            }
            assertEquals(DONE, status);
            byte[] stored = client.getObjectAsBytes(
                            request -> request.bucket(server.bucket()).key(prefix + "framed"))
                    .asByteArray();
            assertArrayEquals(BODY, stored);
        }
    }

    @Test
    @DisplayName("a body with a wrong checksum is refused")
    void checksum() {
        int status = put("checksum", request -> request.checksumCRC32("AAAAAA=="));
        assertEquals(deviates(Deviation.WRONG_CHECKSUM_ACCEPTED) ? DONE : 400, status);
    }

    @Test
    @DisplayName("keys a and a/b can both exist")
    void keyBelowKey() {
        assertEquals(DONE, put("a", request -> request));
        int status = put("a/b", request -> request);
        if (deviates(Deviation.KEY_BELOW_KEY_REFUSED)) {
            assertNotEquals(DONE, status);
        } else {
            assertEquals(DONE, status);
        }
    }

    private int put(String name, UnaryOperator<PutObjectRequest.Builder> change) {
        return status(() ->
                client.putObject(change.apply(object(name)).build(), RequestBody.fromBytes(BODY)));
    }

    private PutObjectRequest.Builder object(String name) {
        return PutObjectRequest.builder().bucket(server.bucket()).key(prefix + name);
    }

    private static int status(Runnable request) {
        try {
            request.run();
            return DONE;
        } catch (S3Exception e) {
            return e.statusCode();
        }
    }
}
