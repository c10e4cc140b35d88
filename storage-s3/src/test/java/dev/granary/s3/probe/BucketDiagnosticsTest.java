package dev.granary.s3.probe;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;

import dev.granary.cache.support.CheckResult;
import dev.granary.s3.BucketTier;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.ScriptedHttpServer;
import dev.granary.s3.SelfSigned;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.contract.DeviatingObjectStore;
import dev.granary.s3.contract.DeviatingObjectStore.Deviation;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/** Tests of the advice to users whose bucket, server or credentials do not meet Granary's needs. */
class BucketDiagnosticsTest {
    @TempDir
    private static Path directory = Path.of("");

    private static @Nullable SelfSigned certificate;

    @BeforeAll
    static void certify() throws Exception {
        certificate = SelfSigned.create(directory, "ip:127.0.0.1");
    }

    private static List<CheckResult> check(S3ClientLibrary client, URI endpoint) {
        return check(S3Config.builder("bucket")
                .endpoint(endpoint)
                .client(client)
                .credentials("key", "a-secret")
                .requestTimeout(Duration.ofSeconds(30))
                .loadDeadline(Duration.ofSeconds(30))
                .build());
    }

    private static List<CheckResult> check(S3Config config) {
        try (BucketTier tier = BucketTier.open(config)) {
            return tier.check();
        }
    }

    private static List<CheckResult> check(MemoryObjectStore store) {
        return check(store, S3Access.READ_WRITE);
    }

    private static List<CheckResult> check(MemoryObjectStore store, S3Access access) {
        return check(
                store, S3Config.builder("bucket").prefix("team").access(access).build());
    }

    private static List<CheckResult> check(MemoryObjectStore store, S3Config config) {
        try (BucketTier tier =
                new BucketTier(config, _ -> store, new TestTicker(), TestSeed.random("check"))) {
            return tier.check();
        }
    }

    /** Checks the only problem, whose cause and cure must contain these words, in one line each. */
    private static void assertProblem(List<CheckResult> results, String cause, String cure) {
        CheckResult.Problem problem =
                assertInstanceOf(CheckResult.Problem.class, results.getLast(), results::toString);
        assertEquals(
                1,
                results.stream().filter(CheckResult.Problem.class::isInstance).count(),
                results::toString);
        assertTrue(problem.cause().contains(cause), problem::toString);
        assertTrue(problem.cure().contains(cure), problem::toString);
        assertTrue(results.stream()
                .noneMatch(result -> result.toString().contains("\n")
                        || result.toString().contains("a-secret")));
    }

    private static void assertNotice(List<CheckResult> results, String finding, String advice) {
        assertTrue(
                results.stream()
                        .anyMatch(result -> result instanceof CheckResult.Notice notice
                                && notice.finding().contains(finding)
                                && notice.advice().contains(advice)),
                results::toString);
        assertTrue(
                results.stream().noneMatch(CheckResult.Problem.class::isInstance),
                results::toString);
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a sound bucket: one line for each step, the capabilities, and the marker is"
            + " written")
    void sound(S3ClientLibrary client) {
        S3Config config = TestS3.server().config().client(client).build();
        List<CheckResult> results = check(config);
        assertTrue(
                results.stream().allMatch(CheckResult.Sound.class::isInstance), results::toString);
        assertEquals(new CheckResult.Sound("conditional writes: FULL"), results.getLast());
        assertEquals(12, results.size(), results::toString);
        try (var store = ObjectStoreFactory.open(config)) {
            GetResult.Found marker = assertThat(store.get(
                            config.location().prefix() + "/granary.json",
                            CapabilityMarker.MAX_BYTES))
                    .isFound();
            assertTrue(marker.dates().age().isPresent());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("responses of a server to a wrong configuration: cause and cure")
    void responses(S3ClientLibrary client) throws Exception {
        Map<ScriptedHttpServer.Answer, List<String>> expected = Map.ofEntries(
                Map.entry(
                        ScriptedHttpServer.error(404, "NoSuchBucket"),
                        List.of("there is no bucket bucket at http://", "create it")),
                Map.entry(
                        ScriptedHttpServer.error(403, "InvalidAccessKeyId"),
                        List.of("does not accept the access key", "AWS_ACCESS_KEY_ID")),
                Map.entry(
                        ScriptedHttpServer.error(403, "SignatureDoesNotMatch"),
                        List.of("the secret key does not fit", "AWS_SECRET_ACCESS_KEY")),
                Map.entry(
                        ScriptedHttpServer.error(400, "ExpiredToken"),
                        List.of("session", "AWS_SESSION_TOKEN")),
                Map.entry(
                        ScriptedHttpServer.error(403, "AccessDenied"),
                        List.of("access to s3://bucket is denied", "s3:GetObject")),
                Map.entry(
                        ScriptedHttpServer.error(403, "RequestTimeTooSkewed"),
                        List.of("clock", "NTP")),
                Map.entry(
                        ScriptedHttpServer.error(301, "PermanentRedirect"),
                        List.of("another region", "AWS_REGION")),
                Map.entry(
                        ScriptedHttpServer.body(307, "text/html", ""),
                        List.of("redirects requests (307 redirect, which is", "endpoint")),
                Map.entry(
                        ScriptedHttpServer.error(400, "AuthorizationHeaderMalformed"),
                        List.of("another region", "AWS_REGION")),
                Map.entry(
                        ScriptedHttpServer.error(403, "SecondLevelDomainForbidden"),
                        List.of("requires the bucket in the host name", "path-style")),
                Map.entry(
                        ScriptedHttpServer.error(503, "SlowDown"),
                        List.of("fails (503 SlowDown", "log")),
                Map.entry(
                        ScriptedHttpServer.disconnect(),
                        List.of("does not respond correctly", "https://")),
                Map.entry(
                        ScriptedHttpServer.page(),
                        List.of("there is no S3 server: it returns an object", "web page")),
                Map.entry(
                        ScriptedHttpServer.body(404, "text/html", "<html>Not found</html>"),
                        List.of("there is no S3 server", "web page")),
                Map.entry(
                        ScriptedHttpServer.body(405, "text/html", "<html>Not allowed</html>"),
                        List.of("there is no S3 server", "web page")),
                Map.entry(
                        ScriptedHttpServer.body(403, "text/html", "<html>Go away</html>"),
                        List.of("there is no S3 server", "proxy")),
                Map.entry(
                        ScriptedHttpServer.body(
                                400,
                                "text/plain",
                                "Client sent an HTTP request to an HTTPS server."),
                        List.of("there is no S3 server", "https")),
                Map.entry(
                        ScriptedHttpServer.readsAndWrites(
                                ScriptedHttpServer.error(404, "NoSuchKey"),
                                ScriptedHttpServer.error(400, "InvalidRequest")),
                        List.of(
                                "refuses requests as they are sent (400 InvalidRequest",
                                "checksum headers")));
        try (ScriptedHttpServer server = new ScriptedHttpServer()) {
            expected.forEach((answer, words) -> {
                server.answer(answer);
                assertProblem(check(client, server.endpoint()), words.get(0), words.get(1));
            });
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("read-only credentials are sufficient for a reader, and reported so")
    void readOnly(S3ClientLibrary client) throws Exception {
        try (ScriptedHttpServer server = new ScriptedHttpServer()) {
            server.answer(exchange -> {
                boolean isList =
                        String.valueOf(exchange.getRequestURI().getQuery()).contains("list-type");
                (isList || !exchange.getRequestMethod().equals("GET")
                                ? ScriptedHttpServer.error(403, "AccessDenied")
                                : ScriptedHttpServer.error(404, "NoSuchKey"))
                        .handle(exchange);
            });
            List<CheckResult> results = check(client, server.endpoint());
            assertNotice(
                    results, "writing is not allowed", "expected on a machine that only reads");
            assertNotice(results, "listing does not work", "s3:ListBucket");
            assertTrue(server.requests() < 10, () -> server.requests() + " requests");
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("no server at the port, no such host")
    void unreachable(S3ClientLibrary client) throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        assertProblem(
                check(client, URI.create("http://127.0.0.1:" + port)),
                "cannot connect to",
                "start the server");
        assertProblem(
                check(client, URI.create("http://granary-no-such-host.invalid:9000")),
                "there is no host",
                "correct the endpoint");
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("https to an http server, http to an https server, an untrusted certificate")
    void schemes(S3ClientLibrary client) throws Exception {
        byte[] plain = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".getBytes(UTF_8);
        byte[] alert = {0x15, 3, 1, 0, 2, 2, 70};
        assertProblem(checkResponse(plain, client, "https"), "does not support https", "http://");
        assertProblem(
                checkResponse(alert, client, "http"), "does not respond correctly", "https://");
        HttpsServer tls =
                HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        tls.setHttpsConfigurator(
                new HttpsConfigurator(Objects.requireNonNull(certificate).context()));
        tls.start();
        try {
            int port = tls.getAddress().getPort();
            assertProblem(
                    check(client, URI.create("https://127.0.0.1:" + port)),
                    "certificate",
                    "AWS_CA_BUNDLE, or run keytool -importcert");
        } finally {
            tls.stop(0);
        }
    }

    /** Checks a server that sends these bytes to any request, and disconnects. */
    private static List<CheckResult> checkResponse(
            byte[] answer, S3ClientLibrary client, String scheme) throws Exception {
        Thread responding;
        List<CheckResult> results;
        try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            responding = Thread.ofVirtual().start(() -> answer(server, answer));
            results = check(client, URI.create(scheme + "://127.0.0.1:" + server.getLocalPort()));
        }
        responding.join();
        return results;
    }

    private static void answer(ServerSocket server, byte[] answer) {
        while (!server.isClosed()) {
            try (Socket connection = server.accept()) {
                connection.getInputStream().readNBytes(5);
                connection.getOutputStream().write(answer);
            } catch (IOException e) {
                // the client disconnected first, or the test is over
            }
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a server that is silent to https: the cure names http as well")
    void silentToTls(S3ClientLibrary client) throws Exception {
        // waits for the end of a line that a TLS handshake does not have
        try (ScriptedHttpServer server = new ScriptedHttpServer()) {
            S3Config config = S3Config.builder("bucket")
                    .endpoint(
                            URI.create("https://127.0.0.1:" + server.endpoint().getPort()))
                    .client(client)
                    .credentials("key", "a-secret")
                    .requestTimeout(Duration.ofSeconds(1))
                    .build();
            assertProblem(check(config), "https://", "http://");
        }
    }

    @Test
    @DisplayName("no permission to list: an absent object looks forbidden, although all else is"
            + " allowed")
    void noListing() {
        MemoryObjectStore store = withoutListing();
        List<CheckResult> results = check(store);
        CheckResult.Problem problem = results.stream()
                .filter(CheckResult.Problem.class::isInstance)
                .map(CheckResult.Problem.class::cast)
                .findFirst()
                .orElseThrow();
        assertTrue(
                problem.cause().contains("reported as forbidden")
                        && problem.cure().contains("s3:ListBucket"),
                problem::toString);
        assertEquals(new CheckResult.Sound("conditional writes: FULL"), results.getLast());
        assertEquals(List.of("team/granary.json"), store.keys());
    }

    @Test
    @DisplayName("no permission to list, and a bucket configured read-only: reported, and"
            + " nothing is written")
    void noListingReadOnly() {
        MemoryObjectStore store = withoutListing();
        assertProblem(check(store, S3Access.READ), "reported as forbidden", "s3:ListBucket");
        assertTrue(
                store.requests().stream()
                        .noneMatch(request ->
                                request.startsWith("PUT") || request.startsWith("DELETE")),
                () -> store.requests().toString());
    }

    @Test
    @DisplayName("a bucket configured read-only that may be written: reported if the server is"
            + " known to refuse the one write; nothing is changed")
    void excessRights() {
        S3ConfigBuilder own = S3Config.builder("bucket")
                .prefix("team")
                .endpoint(URI.create("http://s3.example.com:9000"));
        S3Config reader = own.access(S3Access.READ).build();
        MemoryObjectStore store = new MemoryObjectStore();
        List<CheckResult> unknown = check(store, reader);
        assertEquals(1, unknown.size(), unknown::toString);
        assertTrue(store.requests().stream().allMatch(request -> request.startsWith("GET")));
        List<CheckResult> sound =
                check(store, own.access(S3Access.READ_WRITE).build()); // writes the marker
        assertEquals(new CheckResult.Sound("conditional writes: FULL"), sound.getLast());
        List<String> before = store.keys();
        store.forgetRequests();
        String advice = "granary doctor s3://bucket/team --policy reader";
        assertNotice(check(store, reader), "these credentials may also write", advice);
        assertEquals(before, store.keys());
        assertEquals(3, store.requests().size(), () -> store.requests().toString());
        MemoryObjectStore amazons = new MemoryObjectStore(); // as documented, without a marker
        assertNotice(check(amazons, S3Access.READ), "these credentials may also write", advice);
        assertEquals(List.of(), amazons.keys());
        MemoryObjectStore readers = new MemoryObjectStore() {
            @Override
            public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
                return new WriteResult.NotAllowed(Fault.DENIED);
            }
        };
        readers.place("team/granary.json", store.body("team/granary.json"));
        assertEquals(1, check(readers, reader).size());
        assertEquals(1, check(readers, S3Access.READ).size());
    }

    /** Returns a store as credentials without the permission to list see it. */
    private static MemoryObjectStore withoutListing() {
        StoreFailure denied = Fault.DENIED;
        return new MemoryObjectStore() {
            @Override
            public GetResult get(String key, long limit) {
                GetResult result = super.get(key, limit);
                return result instanceof GetResult.Absent
                        ? new GetResult.Unavailable(denied)
                        : result;
            }

            @Override
            public ListResult list(String prefix, Consumer<Listed> visitor) {
                return new ListResult.Unavailable(denied);
            }
        };
    }

    @Test
    @DisplayName("a server with fewer capabilities: notices that name the disabled features, no"
            + " problem")
    void fewerCapabilities() {
        assertNotice(
                check(new DeviatingObjectStore(Deviation.REFUSES_CONDITIONS)),
                "conditional writes: NONE",
                "entries are shared");
        assertNotice(
                check(new DeviatingObjectStore(Deviation.IGNORES_CONDITIONS)),
                "a second create of one object succeeded",
                "no packs");
        assertNotice(
                check(new DeviatingObjectStore(Deviation.RACY_REPLACE)),
                "conditional writes: CREATE_ONLY",
                "If-Match");
        assertNotice(
                check(new DeviatingObjectStore(Deviation.IGNORES_CONDITIONAL_DELETE)),
                "conditional deletion",
                "clean-up");
        assertNotice(
                check(new DeviatingObjectStore(Deviation.FORBIDS_DELETIONS)),
                "deleting is not allowed",
                "publishes without");
    }

    private static boolean isLarge(GetResult.Found found) {
        return found.bytes().byteSize() >= 1 << 20;
    }

    private static List<CheckResult> checkLarge(Function<GetResult.Found, GetResult> answer) {
        return check(new MemoryObjectStore() {
            @Override
            public GetResult get(String key, long limit) {
                GetResult read = super.get(key, limit);
                return read instanceof GetResult.Found found && isLarge(found)
                        ? answer.apply(found)
                        : read;
            }
        });
    }

    @Test
    @DisplayName("named: a large object that is refused or cut off, and a server with two clocks")
    void largeObjectAndClocks() {
        assertNotice(
                check(new MemoryObjectStore() {
                    @Override
                    public WriteResult put(String key, byte[] body) {
                        return body.length < 1 << 20
                                ? super.put(key, body)
                                : WriteResult.failed(new StoreFailure(
                                        StoreFailure.Kind.OBJECT_REFUSED,
                                        413,
                                        "",
                                        "Request Entity Too Large"));
                    }
                }),
                "an object of 1 MiB is refused (413",
                "largest body");
        assertNotice(
                checkLarge(found -> new GetResult.Found(
                        found.bytes().asSlice(0, 1 << 19), found.etag(), found.dates())),
                "is not returned as it was written",
                "proxy");
        assertNotice(
                checkLarge(found -> new GetResult.Found(
                        found.bytes(),
                        found.etag(),
                        new ServerTimestamps(
                                found.dates().lastModifiedMillis(),
                                found.dates().nowMillis() + Duration.ofHours(25).toMillis()))),
                "two clocks",
                "set the clocks");
    }

    @Test
    @DisplayName("another process probes: reported, the check probes as well, and its"
            + " verdict is the marker")
    void probedByAnother() {
        MemoryObjectStore store = new MemoryObjectStore();
        S3Config config = S3Config.builder("bucket").prefix("team").build();

        store.place(
                "team/granary.json", CapabilityMarker.probing(config, "other").json());
        store.pass(Duration.ofSeconds(7));
        List<CheckResult> results = check(store);
        assertNotice(results, "another process began to probe the server 7 s ago", "no packs");
        assertEquals(new CheckResult.Sound("conditional writes: FULL"), results.getLast());
        assertTrue(new String(store.body("team/granary.json"), UTF_8).contains("\"known\""));
    }

    @Test
    @DisplayName("an endpoint that names the bucket, missing credentials")
    void configuration() {
        MemoryObjectStore store = new MemoryObjectStore();
        S3Config config = S3Config.builder("kernels")
                .endpoint(URI.create("http://kernels.minio.example:9000"))
                .build();
        try (BucketTier tier = new BucketTier(
                config, _ -> store, new TestTicker(), TestSeed.random("configuration"))) {
            assertNotice(tier.check(), "begins with the name of the bucket", "leave it out");
        }
        StoreFailure none =
                StoreFailure.of(StoreFailure.Kind.DENIED, "no credentials were found: set them");
        assertProblem(
                List.of(new FailureAdvice(config).of(none)), "no credentials", "AWS_ACCESS_KEY_ID");
    }

    @Test
    @DisplayName("every failure has a cause and a cure, one line each")
    void everyFailure() {
        FailureAdvice failureAdvice =
                new FailureAdvice(S3Config.builder("bucket").build());
        Stream.of(StoreFailure.Kind.values())
                .flatMap(kind -> Stream.of(
                        StoreFailure.of(kind, "said so"),
                        new StoreFailure(kind, 418, "Teapot", "said so")))
                .forEach(failure -> {
                    CheckResult.Problem problem = failureAdvice.of(failure);
                    assertTrue(
                            !problem.cause().isBlank()
                                    && !problem.cure().isBlank()
                                    && !problem.toString().contains("\n"),
                            problem::toString);
                });
    }
}
