package com.example.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat;
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
        new ServedFiles(directory).store(entry);
        server = HttpServer.create(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            Path file = directory.resolve(exchange.getRequestURI().getPath().substring(1));
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
        return load("http://127.0.0.1:" + server.getAddress().getPort() + "/", limit);
    }

    private LoadResult load(String address, Duration limit) {
        try (HttpTreeCache cache = new HttpTreeCache(URI.create(address), limit)) {
            return cache.load(entry.id());
        }
    }

    /** Changes the file, and sends it with its new length. */
    private LoadResult changed(UnaryOperator<byte[]> change) {
        answer = (exchange, content) -> send(exchange, change.apply(content));
        return load(LONG);
    }

    @Test
    void soundAnswer() {
        LoadResult.Hit hit = assertInstanceOf(LoadResult.Hit.class, load(LONG));
        assertEquals(entry.contentHash(), hit.entry().contentHash());
        assertEquals(entry.metadata(), hit.entry().metadata());
    }

    @Test
    void noEntries() {
        assertDamaged(changed(content -> Arrays.copyOf(content, content.length / 2)));
        assertDamaged(changed(_ -> "<html><body>Please log in</body></html>".getBytes()));
        // more than an entry can have: the request ends there
        answer = (exchange, _) -> exchange.sendResponseHeaders(200, EntryFormat.MAX_BYTES + 1L);
        assertInstanceOf(LoadResult.Unavailable.class, load(LONG));
    }

    @Test
    void missingFile() throws IOException {
        Files.delete(new ServedFiles(directory).file(entry));
        assertEquals(LoadResult.ABSENT, load(LONG));
    }

    @Test
    void statuses() {
        for (int status : new int[] {302, 403, 503, 206}) {
            answer = (exchange, _) -> exchange.sendResponseHeaders(status, -1);
            assertInstanceOf(LoadResult.Unavailable.class, load(LONG), "status " + status);
        }
        answer = (exchange, _) -> exchange.sendResponseHeaders(410, -1);
        assertEquals(LoadResult.ABSENT, load(LONG));
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
        assertInstanceOf(LoadResult.Unavailable.class, load("http://127.0.0.1:" + port + "/", LONG));
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
