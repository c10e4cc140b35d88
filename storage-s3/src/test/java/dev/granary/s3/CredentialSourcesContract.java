package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Sources of credentials that need more modules of the AWS SDK than its S3 client, against a fake
 * of Amazon's services. Each client library is tested in its own module, with the class path of a
 * program that depends on that module alone.
 */
abstract class CredentialSourcesContract {
    private static final String SESSION = "<ACTIONResponse><ACTIONResult>"
            + "<Credentials><AccessKeyId>key-of-sts</AccessKeyId>"
            + "<SecretAccessKey>secret-of-sts</SecretAccessKey>"
            + "<SessionToken>token-of-sts</SessionToken>"
            + "<Expiration>2100-01-01T00:00:00Z</Expiration>"
            + "</Credentials></ACTIONResult></ACTIONResponse>";

    @TempDir
    private Path home = Path.of("");

    private final Collection<String> requests = new ConcurrentLinkedQueue<>();
    private final HttpServer amazon =
            HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);

    CredentialSourcesContract() throws IOException {}

    @BeforeEach
    void start() {
        amazon.createContext("/", this::answer);
        amazon.start();
    }

    @AfterEach
    void stop() {
        amazon.stop(0);
    }

    private void answer(HttpExchange exchange) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
        String path = exchange.getRequestURI().getPath();
        if (body.contains("Action=AssumeRole&") || body.contains("Action=AssumeRoleWithWeb")) {
            String action = body.replaceFirst("(?s).*Action=(\\w+).*", "$1");
            boolean isAllowed = !body.contains("forbidden");
            requests.add(action + (body.contains("WebIdentityToken=a-web-token") ? " token" : ""));
            ScriptedHttpServer.body(
                            isAllowed ? 200 : 403,
                            "text/xml",
                            isAllowed
                                    ? SESSION.replace("ACTION", action)
                                    : "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not"
                                            + " authorized to assume it</Message></Error>"
                                            + "</ErrorResponse>")
                    .handle(exchange);
        } else if (path.equals("/federation/credentials")) {
            requests.add("sso " + exchange.getRequestHeaders().getFirst("x-amz-sso_bearer_token"));
            ScriptedHttpServer.body(
                            200,
                            "application/json",
                            "{\"roleCredentials\":{\"accessKeyId\":\"key-of-sso\","
                                    + "\"secretAccessKey\":\"secret-of-sso\","
                                    + "\"sessionToken\":\"token-of-sso\","
                                    + "\"expiration\":4102444800000}}")
                    .handle(exchange);
        } else if (path.equals("/token")) {
            requests.add("oidc" + (body.contains("a-refresh-token") ? " refresh" : ""));
            ScriptedHttpServer.body(
                            200,
                            "application/json",
                            "{\"accessToken\":\"a-new-token\",\"expiresIn\":3600}")
                    .handle(exchange);
        } else {
            String signature =
                    Objects.toString(exchange.getRequestHeaders().getFirst("Authorization"));
            requests.add("s3 " + signature.replaceFirst(".*Credential=([^/]*)/.*", "$1") + " "
                    + exchange.getRequestHeaders().getFirst("x-amz-security-token"));
            ScriptedHttpServer.body(200, "text/plain", "a body").handle(exchange);
        }
        exchange.close();
    }

    private String address() {
        return "http://127.0.0.1:" + amazon.getAddress().getPort();
    }

    /** Returns what the client library of this module reads with these variables. */
    private String read(Map<String, String> variables) throws Exception {
        Map<String, String> all = new HashMap<>(Map.of(
                "HOME", home.toString(),
                "AWS_CONFIG_FILE", home.resolve("config").toString(),
                "AWS_SHARED_CREDENTIALS_FILE", home.resolve("credentials").toString(),
                "AWS_EC2_METADATA_DISABLED", "true",
                "AWS_REGION", "eu-central-1",
                "AWS_ENDPOINT_URL_STS", address(),
                "AWS_ENDPOINT_URL_SSO", address(),
                "AWS_ENDPOINT_URL_SSO_OIDC", address()));
        all.putAll(variables);
        Map<String, String> results = SmallProcess.values(SmallProcess.of(ReadingProcess.class, 128)
                .withoutVariables("AWS_")
                .variables(all)
                .run(address()));
        assertEquals(1, results.size(), "this module has one client library");
        return results.values().iterator().next();
    }

    private Map<String, String> webIdentity() throws IOException {
        Path token = Files.writeString(home.resolve("token"), "a-web-token");
        return Map.of(
                "AWS_WEB_IDENTITY_TOKEN_FILE",
                token.toString(),
                "AWS_ROLE_ARN",
                "arn:aws:iam::123456789012:role/reader");
    }

    @Test
    @DisplayName("a web identity: its token becomes a session of the role")
    void webIdentityToken() throws Exception {
        assertEquals("a body", read(webIdentity()));
        assertEquals(
                List.of("AssumeRoleWithWebIdentity token", "s3 key-of-sts token-of-sts"),
                List.copyOf(requests));
    }

    @Test
    @DisplayName("a profile with a role: the keys of its source become a session of the role")
    void role() throws Exception {
        Files.writeString(home.resolve("config"), """
            [profile base]
            aws_access_key_id = key-of-base
            aws_secret_access_key = secret-of-base
            [profile reader]
            role_arn = arn:aws:iam::123456789012:role/reader
            source_profile = base
            """);
        assertEquals("a body", read(Map.of("AWS_PROFILE", "reader")));
        assertEquals(List.of("AssumeRole", "s3 key-of-sts token-of-sts"), List.copyOf(requests));
    }

    /** Writes a profile of an SSO session, and the token of its last sign-in. */
    private void signIn(String expiration) throws Exception {
        Files.writeString(home.resolve("config"), """
            [sso-session team]
            sso_region = eu-central-1
            sso_start_url = https://team.example/start
            [profile reader]
            sso_session = team
            sso_account_id = 123456789012
            sso_role_name = reader
            """);
        String name = HexFormat.of()
                .formatHex(MessageDigest.getInstance("SHA-1").digest("team".getBytes(UTF_8)));
        Path cache = Files.createDirectories(home.resolve(".aws/sso/cache"));
        Files.writeString(cache.resolve(name + ".json"), """
            {"accessToken":"a-token","expiresAt":"%s","region":"eu-central-1",
             "startUrl":"https://team.example/start","refreshToken":"a-refresh-token",
             "clientId":"an-id","clientSecret":"a-secret",
             "registrationExpiresAt":"2100-01-01T00:00:00Z"}
            """.formatted(expiration));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a profile of an SSO session: the token of the sign-in becomes a session")
    void sso() throws Exception {
        signIn("2100-01-01T00:00:00Z");
        assertEquals("a body", read(Map.of("AWS_PROFILE", "reader")));
        assertEquals(List.of("sso a-token", "s3 key-of-sso token-of-sso"), List.copyOf(requests));
    }

    @Test
    @DisplayName("an expired token of an SSO session is renewed")
    void renewedSso() throws Exception {
        signIn("2020-01-01T00:00:00Z");
        assertEquals("a body", read(Map.of("AWS_PROFILE", "reader")));
        assertEquals(
                List.of("oidc refresh", "sso a-new-token", "s3 key-of-sso token-of-sso"),
                List.copyOf(requests));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the cause names an STS that cannot be reached")
    void unreachable() throws Exception {
        int closed;
        try (ServerSocket released = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            closed = released.getLocalPort();
        }
        Map<String, String> variables = new HashMap<>(webIdentity());
        variables.put("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:" + closed);
        String result = read(variables);
        assertTrue(
                result.startsWith("DENIED no credentials were found: ")
                        && result.contains("127.0.0.1:" + closed)
                        && result.contains("Connection refused"),
                result);
        assertEquals(List.of(), List.copyOf(requests));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the cause names an STS whose name is unknown")
    void unknownHost() throws Exception {
        Map<String, String> variables = new HashMap<>(webIdentity());
        variables.put("AWS_ENDPOINT_URL_STS", "http://sts.granary-test.invalid");
        String unknown = read(variables);
        assertTrue(unknown.contains("UnknownHostException: sts.granary-test.invalid"), unknown);
        assertEquals(List.of(), List.copyOf(requests));
    }

    @Test
    @DisplayName("the cause has the refusal of STS")
    void refused() throws Exception {
        Map<String, String> variables = new HashMap<>(webIdentity());
        variables.put("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/forbidden");
        String result = read(variables);
        assertTrue(
                result.startsWith("DENIED no credentials were found: Not authorized to assume it"),
                result);
    }

    @Test
    @DisplayName("the cause names a profile that is missing; without any the cure is in it")
    void missing() throws Exception {
        String result = read(Map.of("AWS_PROFILE", "nobody"));
        assertTrue(
                result.startsWith("DENIED no credentials were found: ")
                        && result.contains("'nobody'"),
                result);
        Files.writeString(home.resolve("config"), "[default]\nregion = eu-central-1\n");
        assertEquals(
                "DENIED no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,"
                        + " or name a profile by AWS_PROFILE; a public bucket needs access=read and"
                        + " credentials=none",
                read(Map.of()));
    }
}
