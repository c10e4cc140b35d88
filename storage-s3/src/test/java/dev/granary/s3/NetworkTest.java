package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;

import dev.granary.s3.config.S3ClientLibrary;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Predicate;

/** Tests of proxies and own certificates through both clients, with a real environment. */
class NetworkTest {
    /** A host that only a proxy can resolve. */
    private static final String HOST = "bucket.granary-test.invalid";

    private static final String BODY = "a body";

    @TempDir
    private static Path directory = Path.of("");

    private static @Nullable SelfSigned certificate;

    private final Collection<String> requests = new ConcurrentLinkedQueue<>();
    private final Collection<String> tunnels = new ConcurrentLinkedQueue<>();
    private final HttpsServer tls = HttpsServer.create(loopback(), 0);
    private final HttpServer plain = HttpServer.create(loopback(), 0);
    private final ServerSocket proxy = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

    NetworkTest() throws IOException {}

    private static InetSocketAddress loopback() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    @BeforeAll
    static void certify() throws Exception {
        certificate = SelfSigned.create(directory, "ip:127.0.0.1,dns:" + HOST);
    }

    @BeforeEach
    void start() {
        tls.setHttpsConfigurator(
                new HttpsConfigurator(Objects.requireNonNull(certificate).context()));
        for (HttpServer server : List.of(tls, plain)) {
            server.createContext("/", exchange -> {
                requests.add(exchange.getRequestURI().toString());
                ScriptedHttpServer.body(200, "text/plain", BODY).handle(exchange);
                exchange.close();
            });
            server.start();
        }
        Thread.ofVirtual().start(() -> {
            while (!proxy.isClosed()) {
                try {
                    Socket client = proxy.accept();
                    Thread.ofVirtual().start(() -> tunnel(client));
                } catch (IOException e) {
                    // the test is over
                }
            }
        });
    }

    @AfterEach
    void stop() throws IOException {
        tls.stop(0);
        plain.stop(0);
        proxy.close();
    }

    /** Connects a client to the TLS server, whatever host it asks for. Requires a password. */
    private void tunnel(Socket client) {
        try (client;
                Socket server = new Socket(InetAddress.getLoopbackAddress(), port(tls))) {
            BufferedReader head =
                    new BufferedReader(new InputStreamReader(client.getInputStream(), ISO_8859_1));
            String request = head.readLine();
            boolean isAllowed = false;
            for (String line = head.readLine(); !line.isEmpty(); line = head.readLine()) {
                isAllowed |= line.equals("Proxy-Authorization: Basic "
                        + Base64.getEncoder().encodeToString("me:p@ss".getBytes(ISO_8859_1)));
            }
            tunnels.add(request + (isAllowed ? " allowed" : " refused"));
            String answer = isAllowed
                    ? "HTTP/1.1 200 Connected\r\n\r\n"
                    : "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"p\"\r\n"
                            + "Connection: close\r\nContent-Length: 0\r\n\r\n";
            client.getOutputStream().write(answer.getBytes(ISO_8859_1));
            if (isAllowed) {
                Thread.ofVirtual().start(() -> copy(client, server));
                server.getInputStream().transferTo(client.getOutputStream());
            }
        } catch (IOException e) {
            // a side closed its connection
        }
    }

    private static void copy(Socket from, Socket to) {
        try {
            from.getInputStream().transferTo(to.getOutputStream());
            to.shutdownOutput();
        } catch (IOException e) {
            // a side closed its connection
        }
    }

    private static int port(HttpServer server) {
        return server.getAddress().getPort();
    }

    /** Reads an object in a process with this environment; the result must fit in each client. */
    private void assertRead(String endpoint, Map<String, String> variables, Predicate<String> fits)
            throws Exception {
        assertReads(variables, Map.of(endpoint, fits));
    }

    /** Reads an object from each of these endpoints, with the results that fit. */
    private void assertReads(Map<String, String> variables, Map<String, Predicate<String>> fitting)
            throws Exception {
        Map<String, String> all = new HashMap<>(
                Map.of("AWS_ACCESS_KEY_ID", "key", "AWS_SECRET_ACCESS_KEY", "a-secret"));
        all.putAll(variables);
        Map<String, String> results = SmallProcess.values(SmallProcess.of(ReadingProcess.class, 128)
                .withoutVariables(
                        "AWS_", "HTTP_PROXY", "http_proxy", "HTTPS_P", "https_p", "NO_P", "no_p")
                .variables(all)
                .run(fitting.keySet().toArray(String[]::new)));
        assertEquals(S3ClientLibrary.values().length * fitting.size(), results.size());
        results.forEach((read, result) -> assertTrue(
                fitting.getOrDefault(read.split(" ")[0], _ -> false).test(result),
                () -> read + ": " + result + " " + tunnels));
    }

    private static String pem() {
        return Objects.requireNonNull(certificate).pem().toString();
    }

    @Test
    @DisplayName("an https server is reached by CONNECT through HTTPS_PROXY, with its password,"
            + " though HTTP_PROXY names another one; this machine needs no proxy")
    void connect() throws Exception {
        String address = "http://me:p%40ss@127.0.0.1:" + proxy.getLocalPort();
        Map<String, String> variables = Map.of(
                "HTTPS_PROXY", address, "HTTP_PROXY", "http://127.0.0.1:1", "AWS_CA_BUNDLE", pem());
        assertReads(
                variables,
                Map.of(
                        "https://" + HOST,
                        BODY::equals,
                        "https://127.0.0.1:" + port(tls),
                        BODY::equals));
        String tunnel = "CONNECT " + HOST + ":443 HTTP/1.1 allowed";
        assertEquals(List.of(tunnel, tunnel), List.copyOf(tunnels));
        assertEquals(Collections.nCopies(4, "/bucket/key"), List.copyOf(requests));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a proxy that refuses the password is named in the cause, the password is not")
    void refused() throws Exception {
        Map<String, String> variables = Map.of(
                "https_proxy",
                "http://me:wrong-pass@127.0.0.1:" + proxy.getLocalPort(),
                "AWS_CA_BUNDLE",
                pem());
        assertRead(
                "https://" + HOST,
                variables,
                result -> result.toLowerCase(java.util.Locale.ROOT).contains("proxy")
                        && !result.contains("wrong-pass"));
        assertEquals(List.of(), List.copyOf(requests));
    }

    @Test
    @DisplayName("an http server is reached through HTTP_PROXY, unless NO_PROXY has its domain")
    void plainProxy() throws Exception {
        String address = "http://127.0.0.1:" + port(plain);
        String endpoint = "http://bucket.example:9000";
        assertReads(
                Map.of("HTTP_PROXY", address, "NO_PROXY", "other.example, .invalid"),
                Map.of(
                        endpoint,
                        BODY::equals,
                        "http://" + HOST + ":9000",
                        result -> result.startsWith("UNREACHABLE")));
        String request = endpoint + "/bucket/key";
        assertEquals(List.of(request, request), List.copyOf(requests));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a server with an own certificate is not trusted without AWS_CA_BUNDLE, whose"
            + " missing file is the cause")
    void certificate() throws Exception {
        String endpoint = URI.create("https://127.0.0.1:" + port(tls)).toString();
        assertRead(endpoint, Map.of(), result -> result.startsWith("TLS"));
        assertRead(
                endpoint,
                Map.of("AWS_CA_BUNDLE", directory.resolve("none.pem").toString()),
                result -> result.contains("AWS_CA_BUNDLE") && result.contains("none.pem"));
    }
}
