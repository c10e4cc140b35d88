package dev.granary.s3;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.ClaimStore;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.store.ConnectionOption;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Options in the address of one bucket, as a server sees them through both clients. */
class ConnectionOptionsTest {
    private static final String KEY = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd";

    private final Path home;
    private final ScriptedHttpServer server = new ScriptedHttpServer();
    private final Collection<HttpExchange> requests = new ConcurrentLinkedQueue<>();
    private final Map<String, byte[]> objects = new HashMap<>(); // guarded by itself

    ConnectionOptionsTest(@TempDir Path home) throws IOException {
        this.home = home;
    }

    @BeforeEach
    void profiles() throws IOException {
        Files.writeString(home.resolve("config"), """
            [profile team]
            region = eu-north-1
            [profile keyless]
            region = eu-north-1
            """);
        Files.writeString(home.resolve("credentials"), """
            [team]
            aws_access_key_id = key-of-team
            aws_secret_access_key = hush-of-team
            [vendor]
            aws_access_key_id = key-of-vendor
            aws_secret_access_key = hush-of-vendor
            """);
        System.setProperty("aws.configFile", home.resolve("config").toString());
        System.setProperty(
                "aws.sharedCredentialsFile", home.resolve("credentials").toString());
        server.answer(exchange -> {
            requests.add(exchange);
            ScriptedHttpServer.body(200, "text/plain", "a body").handle(exchange);
        });
    }

    @AfterEach
    void close() {
        System.clearProperty("aws.configFile");
        System.clearProperty("aws.sharedCredentialsFile");
        server.close();
    }

    private S3ConfigBuilder config(S3ClientLibrary client, Map<ConnectionOption, String> options) {
        return S3Config.builder("bucket")
                .endpoint(server.endpoint())
                .client(client)
                .options(options)
                // what a program may have set for all buckets
                .credentials("key-of-all", "hush-of-all");
    }

    private static Map<ConnectionOption, String> profile(String name) {
        return Map.of(ConnectionOption.PROFILE, name);
    }

    private List<String> signers() {
        return requests.stream()
                .map(request -> request.getRequestHeaders()
                        .getFirst("Authorization")
                        .replaceFirst(".*Credential=([^/]*)/[0-9]*/([^/]*)/.*", "$1 $2"))
                .toList();
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("credentials=none: requests are not signed, whatever credentials there are")
    void anonymous(S3ClientLibrary client) {
        S3Config config = config(client, Map.of(ConnectionOption.CREDENTIALS, "none"))
                .access(S3Access.READ)
                .build();
        try (ObjectStore store = ObjectStoreFactory.open(config);
                BucketTier tier = BucketTier.open(config)) {
            store.prepare();
            assertEquals(6, assertThat(store.get("key", 100)).isFound().bytes().byteSize());
            assertThat(store.range("key", 0, 6)).isFound();
            assertThat(store.get("other", 100)).isFound();
            assertTrue(tier.prepare().isEmpty());
            assertTrue(tier.isAnonymous());
        }
        assertEquals(3, requests.size());
        for (HttpExchange request : requests) {
            Headers headers = request.getRequestHeaders();
            assertFalse(headers.containsKey("Authorization"), headers::toString);
            assertFalse(headers.containsKey("x-amz-security-token"), headers::toString);
            assertFalse(
                    String.valueOf(request.getRequestURI()).contains("Signature"),
                    request.getRequestURI()::toString);
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("two buckets with two profiles in one process: each is requested with its own keys"
            + " and region")
    void twoProfiles(S3ClientLibrary client) {
        try (ObjectStore team =
                        ObjectStoreFactory.open(config(client, profile("team")).build());
                ObjectStore vendor = ObjectStoreFactory.open(
                        config(client, profile("vendor")).build());
                ObjectStore near = ObjectStoreFactory.open(
                        config(client, profile("team")).region("eu-west-3").build());
                ObjectStore others =
                        ObjectStoreFactory.open(config(client, Map.of()).build())) {
            for (ObjectStore each : List.of(team, vendor, team, near, others)) {
                assertThat(each.get("key", 100)).isFound();
            }
        }
        assertEquals(
                List.of(
                        "key-of-team eu-north-1",
                        "key-of-vendor us-east-1",
                        "key-of-team eu-north-1",
                        "key-of-team eu-west-3",
                        "key-of-all us-east-1"),
                signers());
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a profile that is missing, or has no credentials: the layer says so, with no"
            + " secret of another one")
    void unusableProfile(S3ClientLibrary client) {
        S3Config missing = config(client, profile("nobody")).build();
        String message = String.valueOf(
                assertThrows(IllegalStateException.class, () -> ObjectStoreFactory.open(missing))
                        .getMessage());
        assertTrue(message.contains("There is no profile nobody"), message);
        String obstacle;
        try (BucketTier tier = BucketTier.open(missing)) {
            obstacle = tier.prepare().orElseThrow();
        }
        assertTrue(obstacle.contains("There is no profile nobody"), obstacle);
        String keyless;
        try (BucketTier tier =
                BucketTier.open(config(client, profile("keyless")).build())) {
            keyless = tier.prepare().orElseThrow();
        }
        assertTrue(keyless.contains("no credentials") && keyless.contains("keyless"), keyless);
        for (String each : List.of(message, obstacle, keyless)) {
            assertFalse(each.contains("hush") || each.contains("key-of"), each);
        }
        assertEquals(0, requests.size());
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("kms=: each object that Granary writes is encrypted with the key")
    void kms(S3ClientLibrary client) throws Exception {
        HttpServer bucket =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        bucket.createContext("/", this::store);
        bucket.start();
        S3Config config = config(client, Map.of(ConnectionOption.KMS, KEY))
                .endpoint(URI.create("http://127.0.0.1:" + bucket.getAddress().getPort()))
                .build();
        Entry entry = new TestEntries("ConnectionOptionsTest").entry(100);
        try (BucketTier tier = BucketTier.open(config);
                BulkBucket packed = tier.packed()) {
            assertTrue(tier.packObstacle().isEmpty());
            List<String> problems = new ArrayList<>();
            PackPublisher publisher =
                    packed.publisher(TestEntries.TARGET.path(), tier::store, problems::add);
            assertTrue(publisher.add(entry, result -> assertThat(result).isStored()));
            publisher.finish();
            assertEquals(List.of(), problems);
            assertThat(tier.store(entry)).isStored();
            ClaimStore.Result _ = tier.claims()
                    .claim(
                            entry.id(),
                            new ClaimStore.Claim(
                                    "0123456789abcdef",
                                    Duration.ofSeconds(1),
                                    ClaimStore.Claim.State.COMPILING));
            WriteResult _ = tier.useNotes()
                    .write(new UseNotes.UseNote(
                            LocalDate.EPOCH, "0123456789abcdef", new TreeMap<>(), Map.of()));
            assertTrue(packed.pins().write("release", Set.of(entry.id())).isEmpty());
        } finally {
            bucket.stop(0);
        }
        Set<String> kinds = new TreeSet<>();
        for (HttpExchange request : requests) {
            Headers headers = request.getRequestHeaders();
            boolean isPut = request.getRequestMethod().equals("PUT");
            String prefix = "x-amz-server-side-encryption";
            assertEquals(isPut ? "aws:kms" : null, headers.getFirst(prefix));
            assertEquals(isPut ? KEY : null, headers.getFirst(prefix + "-aws-kms-key-id"));
            assertEquals(isPut ? "true" : null, headers.getFirst(prefix + "-bucket-key-enabled"));
            if (isPut) {
                kinds.add(request.getRequestURI()
                        .getPath()
                        .replaceFirst("/bucket/(v2/(opencl/[^/]*/)?)?", "")
                        .replaceFirst("/.*", ""));
            }
        }
        assertEquals("[c, e, granary.json, head, p, pin, trial, use]", kinds.toString());
    }

    /** Keeps objects, with the conditions of writes. */
    private void store(HttpExchange exchange) throws IOException {
        requests.add(exchange);
        String key = exchange.getRequestURI().getPath();
        String method = exchange.getRequestMethod();
        Headers conditions = exchange.getRequestHeaders();
        byte[] body = exchange.getRequestBody().readAllBytes();
        int status = 200;
        byte[] answer = {};
        synchronized (objects) {
            byte[] there = objects.get(key);
            String match = conditions.getFirst("If-Match");
            boolean isAllowed = match == null
                    ? there == null || !conditions.containsKey("If-None-Match")
                    : match.replace("\"", "").equals(etag(there));
            if (method.equals("GET")) {
                status = there == null ? 404 : 200;
                answer = there == null
                        ? "<Error><Code>NoSuchKey</Code></Error>".getBytes(UTF_8)
                        : there;
            } else if (!isAllowed) {
                status = 412;
            } else if (method.equals("PUT")) {
                objects.put(key, body);
            } else {
                objects.remove(key);
            }
            exchange.getResponseHeaders().set("ETag", "\"" + etag(objects.get(key)) + "\"");
        }
        exchange.getResponseHeaders().set("Content-Type", "application/xml");
        exchange.sendResponseHeaders(status, answer.length == 0 ? -1 : answer.length);
        exchange.getResponseBody().write(answer);
        exchange.close();
    }

    private static String etag(byte @Nullable [] body) {
        return "e" + Arrays.hashCode(body);
    }
}
