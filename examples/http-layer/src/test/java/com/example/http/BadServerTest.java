package com.example.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.transfer.TreeWriter;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Answers that are no entry: each is a miss of its kind, and never wrong bytes. */
class BadServerTest {
    private static final Duration LONG = Duration.ofMinutes(5);

    private final Entry entry = new TestEntries("http").entry(100_000);
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final CountDownLatch end = new CountDownLatch(1);
    private final Path directory;
    private HttpServer server;
    private volatile Answer answer = BadServerTest::send;

    BadServerTest(@TempDir Path directory) {
        this.directory = directory;
    }

    /** The answer to a request for a file that exists. */
    private interface Answer {
        void to(HttpExchange exchange, byte[] content) throws IOException;
    }

    @BeforeEach
    void start() throws Exception {
        TreeWriter.into(directory, TreeWriter.Mode.WRITE, new java.util.Random(1)).write(entry);
        server = HttpServer.create(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            String path = exchange.getRequestURI().getPath().replaceFirst("^/moved", "");
            Path file = directory.resolve(path.substring(1));
            try (exchange) {
                if (Files.isRegularFile(file)) {
                    answer.to(exchange, Files.readAllBytes(file));
                } else {
                    exchange.sendResponseHeaders(404, -1);
                }
            }
        });
        server.start();
    }

    @AfterEach
    void stop() {
        end.countDown();
        server.stop(0);
        threads.shutdownNow();
    }

    private static void send(HttpExchange exchange, byte[] content) throws IOException {
        exchange.sendResponseHeaders(200, content.length == 0 ? -1 : content.length);
        exchange.getResponseBody().write(content);
    }

    private LoadResult load(Duration limit) {
        return load("http://127.0.0.1:" + server.getAddress().getPort(), limit);
    }

    private LoadResult load(String address, Duration limit) {
        try (HttpTreeCache cache = new HttpTreeCache(URI.create(address), limit)) {
            return cache.load(entry.id());
        }
    }

    /** Changes the files with that name, and sends them with their new length. */
    private LoadResult changed(String name, UnaryOperator<byte[]> change) {
        answer = (exchange, content) -> send(
                exchange,
                exchange.getRequestURI().getPath().endsWith(name)
                        ? change.apply(content)
                        : content);
        return load(LONG);
    }

    @Test
    void right() {
        LoadResult.Hit hit = assertInstanceOf(LoadResult.Hit.class, load(LONG));
        assertEquals(entry.contentHash(), hit.entry().contentHash());
        assertEquals(entry.metadata(), hit.entry().metadata());
    }

    @Test
    void badLengths() {
        for (String name : new String[] {"key.bin", "kernel.bin", "about.txt"}) {
            assertDamaged(changed(name, content -> Arrays.copyOf(content, content.length / 2)));
            assertDamaged(changed(name, content -> new byte[0]));
        }
        for (String name : new String[] {"key.bin", "kernel.bin"}) {
            // more than is read: the request ends there
            assertInstanceOf(
                    LoadResult.Unavailable.class,
                    changed(name, content -> Arrays.copyOf(content, content.length + 1)));
        }
        assertInstanceOf(
                LoadResult.Unavailable.class, changed("about.txt", content -> new byte[2 << 20]));
    }

    @Test
    void wrongBytes() {
        for (String name : new String[] {"key.bin", "kernel.bin"}) {
            assertDamaged(changed(name, content -> {
                content[content.length / 2] ^= 1;
                return content;
            }));
        }
        for (String text : new String[] {
            "<html><body>Please log in</body></html>",
            "granary-entry: 2\n",
            "granary-entry: 1\nbinary-bytes: -5\n",
            "granary-entry: 1\nbinary-bytes: 9223372036854775807\n",
            "granary-entry: 1\nbinary-bytes: 1 9223372036854775807\n", // their sum overflows
        }) {
            assertDamaged(changed("about.txt", _ -> text.getBytes()));
        }
        // one that would need more memory than an entry can have
        assertDamaged(changed("about.txt", content -> new String(content)
                .replace("binary-bytes: 100000", "binary-bytes: 99999999999")
                .getBytes()));
    }

    @Test
    void missingFiles() throws IOException {
        Path files = directory.resolve(entry.id().hash().hex()).resolve("0");
        Files.delete(files.resolve("kernel.bin"));
        assertDamaged(load(LONG));
        Files.delete(files.resolve("about.txt"));
        assertEquals(LoadResult.ABSENT, load(LONG));
    }

    @Test
    void statuses() {
        for (int status : new int[] {401, 403, 429, 500, 503, 206, 204}) {
            answer = (exchange, _) -> exchange.sendResponseHeaders(status, -1);
            assertInstanceOf(LoadResult.Unavailable.class, load(LONG), "status " + status);
        }
        answer = (exchange, _) -> exchange.sendResponseHeaders(410, -1);
        assertEquals(LoadResult.ABSENT, load(LONG));
    }

    @Test
    void redirects() {
        answer = (exchange, content) -> {
            String path = exchange.getRequestURI().getPath();
            if (path.startsWith("/moved")) {
                send(exchange, content);
            } else {
                redirect(exchange, "/moved" + path);
            }
        };
        assertInstanceOf(LoadResult.Hit.class, load(LONG));
        answer = (exchange, _) -> redirect(exchange, exchange.getRequestURI().getPath());
        assertInstanceOf(LoadResult.Unavailable.class, load(LONG), "without end");
        answer = (exchange, _) -> redirect(exchange, "file:///etc/passwd");
        assertInstanceOf(LoadResult.Unavailable.class, load(LONG), "to a file");
    }

    private static void redirect(HttpExchange exchange, String to) throws IOException {
        exchange.getResponseHeaders().add("Location", to);
        exchange.sendResponseHeaders(302, -1);
    }

    @Test
    void slowServers() {
        answer = (exchange, content) -> {
            await(); // no answer
            send(exchange, content);
        };
        assertInstanceOf(LoadResult.Unavailable.class, load(Duration.ofMillis(50)));
        answer = (exchange, content) -> {
            exchange.sendResponseHeaders(200, content.length);
            exchange.getResponseBody().write(content, 0, 1);
            exchange.getResponseBody().flush();
            await(); // headers, and never the whole body
        };
        assertInstanceOf(LoadResult.Unavailable.class, load(Duration.ofMillis(50)));
    }

    @Test
    void connectionsThatEnd() throws IOException {
        answer = (exchange, content) -> {
            exchange.sendResponseHeaders(200, content.length);
            exchange.getResponseBody().write(content, 0, content.length / 2);
            throw new IOException("cut");
        };
        assertInstanceOf(LoadResult.Unavailable.class, load(LONG));
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        assertInstanceOf(LoadResult.Unavailable.class, load("http://127.0.0.1:" + port, LONG));
    }

    @Test
    void addressesThatAreNone() {
        for (String address : new String[] {
            "ftp://server/",
            "server",
            "/kernels",
            "http:/kernels",
            "http://server/?a=b",
            "http://server/#a"
        }) {
            assertThrows(
                    IllegalArgumentException.class,
                    () -> new HttpTreeCache(URI.create(address), LONG),
                    address);
        }
    }

    private void await() {
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void assertDamaged(LoadResult result) {
        assertInstanceOf(LoadResult.Damaged.class, result);
    }
}
