package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.sun.net.httpserver.HttpServer;

import dev.granary.cli.Cli;
import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Tests of {@code granary doctor} with a bucket, as text and as JSON. */
class DoctorTest {
    private final String local;

    DoctorTest(@TempDir Path directory) {
        this.local = directory.resolve("local").toString();
    }

    @BeforeEach
    void credentials() {
        System.setProperty("aws.accessKeyId", "key");
        System.setProperty("aws.secretAccessKey", "a-secret");
    }

    @AfterEach
    void noCredentials() {
        System.clearProperty("aws.accessKeyId");
        System.clearProperty("aws.secretAccessKey");
    }

    private Cli doctor(String endpoint, String... more) {
        List<String> arguments = new ArrayList<>(List.of(
                "doctor", "--dir", local, "--bucket", "s3://kernels/team", "--endpoint", endpoint));
        arguments.addAll(List.of(more));
        return Cli.run(arguments.toArray(String[]::new));
    }

    private static List<JsonObject> bucketChecks(Cli json) {
        return json.json().getAsJsonArray("checks").asList().stream()
                .map(JsonElement::getAsJsonObject)
                .filter(check -> check.get("subject").getAsString().equals("bucket"))
                .toList();
    }

    @ParameterizedTest
    @ValueSource(strings = {"aws", "minio"})
    @DisplayName("a sound bucket: a line for each step of the probe and the verdict, as text and"
            + " as JSON")
    void sound(String client) throws Exception {
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("kernels");
            System.setProperty("aws.accessKeyId", server.accessKey());
            System.setProperty("aws.secretAccessKey", server.secretKey());
            Cli text = doctor(server.endpoint().toString(), "--client", client);
            text.prints(
                    "ok       bucket: s3://kernels/team answers, and reading and writing is"
                            + " allowed",
                    "ok       bucket: a second create of one object is refused",
                    "ok       bucket: exactly one of 32 concurrent creates wins",
                    "ok       bucket: exactly one of 32 concurrent replacements wins",
                    "ok       bucket: conditional writes: FULL",
                    "ok       claims: compiles are claimed: ");
            assertEquals(
                    12,
                    text.out()
                            .lines()
                            .filter(line -> line.contains(" bucket: "))
                            .count(),
                    text.out());
            assertTrue(server.requests().total() <= 110, () -> "requests: " + server.requests());
            List<JsonObject> checks = bucketChecks(
                    doctor(server.endpoint().toString(), "--client", client, "--json"));
            assertEquals(12, checks.size());
            assertTrue(
                    checks.stream()
                            .allMatch(check -> check.get("state").getAsString().equals("sound")),
                    checks::toString);
        }
    }

    @Test
    @DisplayName(
            "a bucket configured read-only whose credentials may write: a note, and no" + " change")
    void excessRights() throws Exception {
        excessRights("aws");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the same with the MinIO client")
    void excessRightsWithMinio() throws Exception {
        excessRights("minio");
    }

    private void excessRights(String client) throws Exception {
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("kernels");
            System.setProperty("aws.accessKeyId", server.accessKey());
            System.setProperty("aws.secretAccessKey", server.secretKey());
            String endpoint = server.endpoint().toString();
            String reader = "s3://kernels/team?access=read";
            String note = "note     bucket: these credentials may also write";
            doctor(endpoint, "--client", client).exits(0); // writes the marker
            Cli read = Cli.run(
                    "doctor", "--dir", local, reader, "--endpoint", endpoint, "--client", client);
            read.prints(
                    "ok       bucket: s3://kernels/team answers, and reading is allowed",
                    note,
                    "granary doctor s3://kernels/team --policy reader");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"reader", "publisher", "public", "write-once"})
    @DisplayName("doctor --policy prints JSON with bucket and prefix, and sends nothing")
    void policies(String role) {
        Cli printed = Cli.run(
                "doctor", "s3://kernels/team?access=read&credentials=none", "--policy", role);
        printed.exits(0);
        JsonArray statements = printed.json().getAsJsonArray("Statement");
        String allowed = "s3:GetObject s3:PutObject s3:DeleteObject s3:DeleteObjectVersion"
                + " s3:ListBucket";
        for (JsonElement each : statements) {
            JsonObject statement = each.getAsJsonObject();
            assertEquals(
                    role.equals("write-once") ? "Deny" : "Allow",
                    statement.get("Effect").getAsString());
            assertEquals(
                    List.of("public", "write-once").contains(role), statement.has("Principal"));
            texts(statement.get("Action"))
                    .forEach(action -> assertTrue(allowed.contains(action), action));
            boolean isListing = texts(statement.get("Action")).contains("s3:ListBucket");
            texts(statement.get("Resource"))
                    .forEach(resource -> assertTrue(
                            isListing
                                    ? resource.equals("arn:aws:s3:::kernels")
                                    : resource.startsWith("arn:aws:s3:::kernels/team/"),
                            resource));
        }
        boolean mayWriteEntries = role.equals("publisher");
        assertEquals(
                mayWriteEntries,
                statements.asList().stream()
                        .map(JsonElement::getAsJsonObject)
                        .anyMatch(each -> texts(each.get("Action")).contains("s3:PutObject")
                                && texts(each.get("Resource"))
                                        .contains("arn:aws:s3:::kernels/team/v2/*")));
        assertTrue(Cli.run("doctor", "s3://kernels", "--policy", role)
                .out()
                .contains("\"arn:aws:s3:::kernels/v2/"));
    }

    private static List<String> texts(JsonElement one) {
        return one.isJsonArray()
                ? one.getAsJsonArray().asList().stream()
                        .map(JsonElement::getAsString)
                        .toList()
                : List.of(one.getAsString());
    }

    @Test
    @DisplayName("doctor --quick sends one request to each bucket and writes nothing")
    void quick() throws Exception {
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("kernels");
            System.setProperty("aws.accessKeyId", server.accessKey());
            System.setProperty("aws.secretAccessKey", server.secretKey());
            server.resetRequests();
            String endpoint = server.endpoint().toString();
            Cli text = doctor(endpoint, "--quick")
                    .prints(
                            "is created by the first program",
                            "ok       bucket: s3://kernels/team at " + endpoint + " answers");
            text.exits(Cli.run("doctor", "--dir", local + "2", "--quick").status());
            Path file = Files.createTempFile("granary-doctor-", "");
            Cli.run("doctor", "--dir", file + "/x", "--quick")
                    .exits(1)
                    .prints("PROBLEM  directory: " + file + "/x cannot be created in " + file);
            Files.delete(file);
            assertEquals(1, server.requests().total(), () -> "requests: " + server.requests());
            assertEquals(0, server.requests().put() + server.requests().delete());
            assertTrue(Files.notExists(Path.of(local)));
        }
        doctor("http://127.0.0.1:1", "--quick").exits(1).prints("PROBLEM  bucket: ");
    }

    @Test
    @DisplayName(
            "a wrong name, a wrong key: one problem each, with cause and cure, exit code 1, and"
                    + " no secret")
    void wrongNameAndKey() throws Exception {
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            String endpoint = server.endpoint().toString();
            for (String client : List.of("aws", "minio")) {
                System.setProperty("aws.accessKeyId", server.accessKey());
                System.setProperty("aws.secretAccessKey", server.secretKey());
                doctor(endpoint, "--client", client)
                        .exits(1)
                        .prints(
                                "PROBLEM  bucket: there is no bucket kernels at " + endpoint,
                                "         -> create it, or correct the name");
                System.setProperty("aws.secretAccessKey", "a-wrong-secret");
                server.createBucket("other");
                Cli denied = doctor(endpoint, "--client", client, "--json").exits(1);
                JsonObject problem = bucketChecks(denied).getLast();
                assertEquals("problem", problem.get("state").getAsString());
                assertTrue(
                        problem.get("cause").getAsString().contains("secret key does not fit"),
                        problem::toString);
                assertTrue(
                        problem.get("cure").getAsString().contains("AWS_SECRET_ACCESS_KEY"),
                        problem::toString);
                assertTrue(!denied.toString().contains("a-wrong-secret"));
            }
        }
    }

    @Test
    @DisplayName("credentials without write access are no problem: a note, and the exit code as"
            + " without a bucket")
    void onlyReads() throws Exception {
        HttpServer server =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            boolean isRead = exchange.getRequestMethod().equals("GET");
            byte[] body = ("<Error><Code>" + (isRead ? "NoSuchKey" : "AccessDenied")
                            + "</Code><Message>no</Message></Error>")
                    .getBytes(UTF_8);
            exchange.getRequestBody().readAllBytes();
            exchange.getResponseHeaders().set("Content-Type", "application/xml");
            exchange.sendResponseHeaders(isRead ? 404 : 403, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        try {
            String endpoint = "http://127.0.0.1:" + server.getAddress().getPort();
            Cli text = doctor(endpoint)
                    .prints(
                            "note     bucket: writing is not allowed (403 AccessDenied: no)",
                            "         -> this is expected on a machine that only reads",
                            "note     claims: compiles are not claimed there: conditional writes"
                                    + " are not known to work",
                            "         -> machines that lack the same kernel at the same time all"
                                    + " compile it");
            text.exits(Cli.run("doctor", "--dir", local).status());
            JsonObject notice = bucketChecks(doctor(endpoint, "--json")).get(1);
            assertEquals("notice", notice.get("state").getAsString());
            assertTrue(
                    notice.get("advice").getAsString().contains("s3:PutObject"), notice::toString);
        } finally {
            server.stop(0);
        }
    }
}
