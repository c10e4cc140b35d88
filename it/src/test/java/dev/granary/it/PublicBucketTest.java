package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.contract.KnownServer;
import dev.granary.s3.contract.ScriptedServer;
import dev.granary.s3.contract.TestS3;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import software.amazon.awssdk.services.s3.S3Client;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Test of {@code docs/public-buckets.md}, as author, user and attacker, on a real server. */
@Tag("exhaustive")
@ExtendWith(WithDevice.class)
class PublicBucketTest {
    private static final String BUCKET = "public-kernels";
    private static final int FORBIDDEN = 403;

    @TempDir
    private Path directory = Path.of("");

    private final TestS3 server = ScriptedServer.of(KnownServer.CEPH);
    private final Map<String, String> account = new HashMap<>(server.environment());

    /** Runs a command as the author, who has an account. */
    private GranaryProcess.Result author(String machine, String... arguments) throws Exception {
        Map<String, String> variables = new HashMap<>(account);
        variables.remove("GRANARY_BUCKET");
        variables.put("GRANARY_DIR", directory.resolve(machine).toString());
        return GranaryProcess.run(variables, arguments);
    }

    /** Runs a command as a user without an account, who has set what the page says. */
    private GranaryProcess.Result user(String machine, String bucket, String... arguments)
            throws Exception {
        return GranaryProcess.run(
                Map.of(
                        "GRANARY_BUCKET",
                        bucket,
                        "GRANARY_S3_ENDPOINT",
                        account.getOrDefault("GRANARY_S3_ENDPOINT", ""),
                        "GRANARY_TRUSTED_KEYS",
                        Files.readString(directory.resolve("author-1.pub")).strip(),
                        "GRANARY_DIR",
                        directory.resolve(machine).toString()),
                arguments);
    }

    /** Writes an object without an account, and returns the status of the answer. */
    private int write() throws Exception {
        URI object = URI.create(
                account.get("GRANARY_S3_ENDPOINT") + "/" + BUCKET + "/v1/v2/opencl/evil");
        HttpRequest put = HttpRequest.newBuilder(object)
                .PUT(HttpRequest.BodyPublishers.ofString("evil"))
                .build();
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(put, HttpResponse.BodyHandlers.discarding()).statusCode();
        }
    }

    private void give(String policy) {
        try (S3Client client = server.client()) {
            client.putBucketPolicy(request -> request.bucket(BUCKET).policy(policy));
        }
    }

    @Test
    @DisplayName("users without an account get what CI signed, compile what is absent or foreign,"
            + " and can write nothing")
    void page() throws Exception {
        String manifest = TestManifests.manifest();
        String place = "s3://" + BUCKET + "/v1";
        String reading = place + "?access=read&credentials=none&region=us-east-1";
        try (S3Client client = server.client()) {
            client.createBucket(request -> request.bucket(BUCKET));
        }
        assertEquals(
                0,
                author("ci", "keys", "--create", "author-1", "--out", directory.toString())
                        .exitCode());
        GranaryProcess.Result closed = user("before", reading, "doctor", reading);
        assertEquals(1, closed.exitCode(), closed::toString);
        GranaryProcess.Result policy = author("ci", "doctor", place, "--policy", "public");
        assertEquals(0, policy.exitCode(), policy::toString);
        give(policy.out());

        account.put("GRANARY_SIGNING_KEY", directory.resolve("author-1.key").toString());
        GranaryProcess.Result filled =
                author("ci", "populate", manifest, "--fresh", "--bucket", place, "--json");
        assertEquals(0, filled.exitCode(), filled::toString);
        GranaryProcess.Result checked = user("doctor", reading, "doctor", reading);
        assertEquals(0, checked.exitCode(), checked::toString);
        assertFalse(checked.toString().contains("may also write"), checked::toString);

        String trusting = reading + "&trust=require";
        GranaryProcess.Result first = user("user", trusting, "get", "--json", manifest);
        assertEquals(TestManifests.COUNT, first.summary("bucket"), first::toString);
        GranaryProcess.Result absent =
                user("other", trusting.replace("/v1", "/v2"), "get", "--json", manifest);
        assertEquals(TestManifests.COUNT, absent.summary("compiled"), absent::toString);
        assertEquals("", absent.err(), absent::toString);

        assertEquals(FORBIDDEN, write());

        account.remove("GRANARY_SIGNING_KEY"); // somebody else with access to another prefix
        assertEquals(
                0,
                author("foreign", "populate", manifest, "--fresh", "--bucket", place + "x")
                        .exitCode());
        give(author("ci", "doctor", place + "x", "--policy", "public").out());
        GranaryProcess.Result foreign =
                user("careful", trusting.replace("/v1", "/v1x"), "get", "--json", manifest);
        assertEquals(TestManifests.COUNT, foreign.summary("compiled"), foreign::toString);
        assertTrue(foreign.err().contains("without a trusted signature"), foreign::toString);
    }
}
