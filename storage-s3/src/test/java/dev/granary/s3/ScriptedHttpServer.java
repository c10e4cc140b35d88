package dev.granary.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** An HTTP server that responds to every request as scripted, or not at all, and counts them. */
public final class ScriptedHttpServer implements AutoCloseable {
    /** Handling of a request. */
    public interface Answer {
        void handle(HttpExchange exchange) throws IOException;
    }

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final CountDownLatch closing = new CountDownLatch(1);
    private final AtomicInteger requests = new AtomicInteger();
    private final HttpServer server;
    private volatile Answer answer = exchange -> exchange.close();

    public ScriptedHttpServer() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            requests.incrementAndGet();
            exchange.getRequestBody().readAllBytes();
            answer.handle(exchange);
            exchange.close();
        });
        server.start();
    }

    public void answer(Answer next) {
        answer = next;
        requests.set(0);
    }

    public int requests() {
        return requests.get();
    }

    public URI endpoint() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** Sends nothing until the server closes. */
    Answer silence() {
        return exchange -> {
            try {
                closing.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        };
    }

    /** Closes the connection without a response. */
    public static Answer disconnect() {
        return HttpExchange::close;
    }

    /** Sends an error in the S3 format. */
    public static Answer error(int status, String code) {
        return body(
                status,
                "application/xml",
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>" + code
                        + "</Code><Message>scripted</Message><Resource>/b/k</Resource>"
                        + "<RequestId>1</RequestId></Error>");
    }

    /** Requests a lower rate, and an immediate retry. */
    static Answer slowDown() {
        return exchange -> {
            exchange.getResponseHeaders().set("Retry-After", "0");
            error(503, "SlowDown").handle(exchange);
        };
    }

    public static Answer body(int status, String type, String text) {
        return body(status, type, text.getBytes(UTF_8));
    }

    static Answer body(int status, String type, byte[] bytes) {
        return body(status, type, bytes, "\"an-etag\"");
    }

    private static Answer body(int status, String type, byte[] bytes, String etag) {
        return exchange -> {
            exchange.getResponseHeaders().set("Content-Type", type);
            if (!etag.isEmpty()) {
                exchange.getResponseHeaders().set("ETag", etag);
            }
            boolean none = exchange.getRequestMethod().equals("HEAD") || bytes.length == 0;
            exchange.sendResponseHeaders(status, none ? -1 : bytes.length);
            if (!none) {
                exchange.getResponseBody().write(bytes);
            }
        };
    }

    /** Sends an HTML page with status 200, like the sign-in page of a proxy; no ETag. */
    public static Answer page() {
        return body(200, "text/html", "<html><body>Sign in</body></html>".getBytes(UTF_8), "");
    }

    /** Combines a response for reads and one for all other requests. */
    public static Answer readsAndWrites(Answer read, Answer write) {
        return exchange -> {
            if (exchange.getRequestMethod().equals("GET")) {
                read.handle(exchange);
            } else {
                write.handle(exchange);
            }
        };
    }

    /** Declares the length of the body, sends half of it, and disconnects. */
    static Answer truncated(byte[] bytes) {
        return exchange -> {
            exchange.getResponseHeaders().set("ETag", "\"an-etag\"");
            exchange.sendResponseHeaders(200, bytes.length);
            OutputStream out = exchange.getResponseBody();
            out.write(bytes, 0, bytes.length / 2);
            out.flush();
        };
    }

    /** Declares a huge body and sends a few bytes of it. */
    static Answer hugeDeclaredLength(long declared) {
        return exchange -> {
            exchange.sendResponseHeaders(200, declared);
            exchange.getResponseBody().write(1);
            exchange.getResponseBody().flush();
        };
    }

    /**
     * Repeats {@code part} after {@code beginning} until the client disconnects; chunked, or with
     * the declared length if that is above zero.
     */
    static Answer endless(int status, long declared, String beginning, String part) {
        return exchange -> {
            exchange.getResponseHeaders().set("ETag", "\"an-etag\"");
            exchange.getResponseHeaders().set("Content-Type", "application/xml");
            exchange.sendResponseHeaders(status, declared);
            OutputStream out = exchange.getResponseBody();
            out.write(beginning.getBytes(UTF_8));
            byte[] more = part.repeat(1 + (64 << 10) / part.length()).getBytes(UTF_8);
            while (true) { // ends when the client disconnects
                out.write(more);
            }
        };
    }

    /** Sends one byte every {@code millis} milliseconds. */
    Answer dripping(long declared, long millis) {
        return exchange -> {
            exchange.sendResponseHeaders(200, declared);
            try {
                do {
                    exchange.getResponseBody().write(0);
                    exchange.getResponseBody().flush();
                } while (!closing.await(millis, TimeUnit.MILLISECONDS));
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        };
    }

    /** Sends a header of that many bytes. */
    static Answer longHeader(int bytes) {
        return exchange -> {
            exchange.getResponseHeaders().set("x-amz-meta-long", "x".repeat(bytes));
            exchange.sendResponseHeaders(200, -1);
        };
    }

    /** Sends that many headers of 100 bytes. */
    static Answer manyHeaders(int count) {
        return exchange -> {
            for (int i = 0; i < count; i++) {
                exchange.getResponseHeaders().add("x-amz-meta-" + i, "x".repeat(80));
            }
            exchange.sendResponseHeaders(200, -1);
        };
    }

    @Override
    public void close() {
        closing.countDown();
        server.stop(0);
        threads.shutdownNow();
    }
}
