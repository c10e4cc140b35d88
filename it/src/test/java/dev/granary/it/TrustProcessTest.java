package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Tests of the commands on a bucket to which somebody else can write. */
@ExtendWith(WithDevice.class)
class TrustProcessTest {
    @TempDir
    private Path directory = Path.of("");

    private final Map<String, String> environment = new HashMap<>();

    private GranaryProcess.Result run(String machine, Map<String, String> more, String... arguments)
            throws Exception {
        Map<String, String> variables = new HashMap<>(environment);
        variables.put("GRANARY_DIR", directory.resolve(machine).toString());
        variables.put(
                "XDG_CONFIG_HOME", directory.resolve("config of " + machine).toString());
        variables.putAll(more);
        return GranaryProcess.run(variables, arguments);
    }

    private static Map<String, String> require(Path trusted) {
        return Map.of(
                "GRANARY_BUCKET",
                "s3://kernels/team?trust=require",
                "GRANARY_TRUSTED_KEYS",
                trusted.toString());
    }

    /** Starts a server with a bucket, which each process uses. */
    private EmbeddedS3 server() throws Exception {
        EmbeddedS3 server = EmbeddedS3.start(null);
        server.createBucket("kernels");
        environment.putAll(Map.of(
                "GRANARY_BUCKET", "s3://kernels/team",
                "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                "AWS_ACCESS_KEY_ID", server.accessKey(),
                "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                "AWS_REGION", "us-east-1"));
        return server;
    }

    /** Returns a manifest with one kernel. */
    private String manifest() throws IOException {
        return Files.writeString(
                        directory.resolve("kernels.toml"), """
            [[kernel]]
            name = "scale"
            source = "%s/scale.cl"
            """.formatted(TestManifests.resources()))
                .toString();
    }

    @Test
    @DisplayName("a foreign job publishes first: a reader compiles, and CI replaces what it left")
    void foreignFirst() throws Exception {
        String manifest = manifest();
        GranaryProcess.Result keys =
                run("admin", Map.of(), "keys", "--create", "ci", "--out", directory.toString());
        assertEquals(0, keys.exitCode(), keys::toString);
        Path secret = directory.resolve("ci.key");
        Path open = directory.resolve("ci.pub");
        String key = Files.readString(secret).strip();
        assertFalse(keys.toString().contains(key.substring(20)), keys::toString);
        assertTrue(Files.getPosixFilePermissions(secret).size() == 2, "the owner's only");
        try (EmbeddedS3 _ = server()) {
            GranaryProcess.Result foreign = run("foreign", Map.of(), "get", "--json", manifest);
            assertEquals(0, foreign.exitCode(), foreign::toString);

            Map<String, String> reading = new HashMap<>(require(open));
            reading.put("GRANARY_BUCKET", "s3://kernels/team?trust=require&access=read");
            GranaryProcess.Result reader = run("reader", reading, "get", "--json", manifest);
            assertEquals(0, reader.exitCode(), reader::toString);
            assertEquals(1, reader.summary("compiled"), reader::toString);
            assertTrue(reader.err().contains("without a trusted signature"), reader::toString);

            Map<String, String> signing = new HashMap<>(require(open));
            signing.put("GRANARY_SIGNING_KEY", secret.toString());
            GranaryProcess.Result ci = run("ci", signing, "populate", "--json", manifest);
            assertEquals(0, ci.exitCode(), ci::toString);
            assertEquals(1, ci.summary("compiled"), ci::toString);

            GranaryProcess.Result second = run("second", require(open), "get", "--json", manifest);
            assertEquals(1, second.summary("bucket"), second::toString);
            String id = second.json()
                    .getAsJsonArray("results")
                    .get(0)
                    .getAsJsonObject()
                    .get("id")
                    .getAsString();
            GranaryProcess.Result inspected = run("second", require(open), "inspect", id);
            assertTrue(inspected.out().contains("signed by ci"), inspected::toString);
        }
    }

    @Test
    @Tag("exhaustive") // by default CopyTest
    @DisplayName("what a foreign job has compiled becomes signed only by a review")
    void promoted() throws Exception {
        run("ci", Map.of(), "keys", "--create", "ci", "--out", directory.toString());
        Map<String, String> reviewed = new HashMap<>(require(directory.resolve("ci.pub")));
        reviewed.put("GRANARY_BUCKET", "s3://kernels/reviewed?trust=require");
        Map<String, String> signing = new HashMap<>(reviewed);
        signing.put("GRANARY_SIGNING_KEY", directory.resolve("ci.key").toString());
        String manifest = manifest();
        try (EmbeddedS3 _ = server()) {
            run("foreign", Map.of(), "get", manifest);
            GranaryProcess.Result promoted = run(
                    "ci",
                    signing,
                    "copy",
                    "--sign",
                    directory.resolve("foreign").toString(),
                    "s3://kernels/reviewed?trust=require");
            assertEquals(0, promoted.exitCode(), promoted::toString);
            GranaryProcess.Result node = run("node", reviewed, "get", "--json", manifest);
            assertEquals(1, node.summary("bucket"), node::toString);
        }
    }

    @Test
    @Tag("exhaustive") // by default TrustTest
    @DisplayName("where signatures are required, populate without a key fails, and says so")
    void unsigned() throws Exception {
        run("ci", Map.of(), "keys", "--create", "ci", "--out", directory.toString());
        try (EmbeddedS3 _ = server()) {
            GranaryProcess.Result refused =
                    run("foreign", require(directory.resolve("ci.pub")), "populate", manifest());
            assertEquals(1, refused.exitCode(), refused::toString);
            assertTrue(refused.toString().contains("it is not signed"), refused::toString);
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("without a trusted key that is not revoked, trust=require is wrong usage")
    void revoked() throws Exception {
        run("ci", Map.of(), "keys", "--create", "ci", "--out", directory.toString());
        String open = directory.resolve("ci.pub").toString();
        assertEquals(0, run("node", Map.of(), "keys", "--trust", open).exitCode());
        assertEquals(0, run("node", Map.of(), "keys", "--revoke", "ci").exitCode());
        GranaryProcess.Result late = run(
                "node",
                Map.of("GRANARY_BUCKET", "s3://kernels/reviewed?trust=require"),
                "get",
                TestManifests.manifest());
        assertEquals(2, late.exitCode(), late::toString);
        assertTrue(late.err().contains("needs a trusted key"), late::toString);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a directory that other jobs have written: with GRANARY_TRUST=require nothing of"
            + " them is used, and what the own key signed is")
    void sharedRunner() throws Exception {
        String manifest = TestManifests.manifest();
        assertEquals(
                0,
                run("a", Map.of(), "keys", "--create", "ci", "--out", directory.toString())
                        .exitCode());
        GranaryProcess.Result before = run("runner", Map.of(), "get", "--json", manifest);
        assertEquals(TestManifests.COUNT, before.summary("compiled"), before::toString);
        Map<String, String> trusting = Map.of(
                "GRANARY_TRUST", "require",
                "GRANARY_TRUSTED_KEYS", directory.resolve("ci.pub").toString(),
                "GRANARY_SIGNING_KEY", directory.resolve("ci.key").toString());
        for (String outcome : new String[] {"compiled", "local"}) {
            GranaryProcess.Result trusted = run("runner", trusting, "get", "--json", manifest);
            assertEquals(0, trusted.exitCode(), trusted::toString);
            assertEquals(TestManifests.COUNT, trusted.summary(outcome), trusted::toString);
        }
    }
}
