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

/** An HTTP server that answers every request as it is told, or not at all, and counts them. */
public final class ScriptedHttpServer implements AutoCloseable {
    /** What is done with a request. */
    public interface Answer {
        void give(HttpExchange exchange) throws IOException;
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
            answer.give(exchange);
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

    /** Says nothing until the server closes. */
    Answer silence() {
        return exchange -> {
            try {
                closing.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        };
    }

    /** Ends the connection without a word. */
    public static Answer hangUp() {
        return HttpExchange::close;
    }

    /** An error in the form of S3. */
    public static Answer error(int status, String code) {
        return body(status, "application/xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>" + code
                + "</Code><Message>as told</Message><Resource>/b/k</Resource><RequestId>1</RequestId></Error>");
    }

    /** Asks for fewer requests, and to try again at once. */
    static Answer slowDown() {
        return exchange -> {
            exchange.getResponseHeaders().set("Retry-After", "0");
            error(503, "SlowDown").give(exchange);
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

    /** A page of HTML with status 200, as of a proxy that wants somebody to sign in; no ETag. */
    public static Answer page() {
        return body(200, "text/html", "<html><body>Sign in</body></html>".getBytes(UTF_8), "");
    }

    /** An answer for reads, and another one for all else. */
    public static Answer readsAndWrites(Answer read, Answer write) {
        return exchange -> {
            if (exchange.getRequestMethod().equals("GET")) {
                read.give(exchange);
            } else {
                write.give(exchange);
            }
        };
    }

    /** Promises a body of that length, sends half of it, and hangs up. */
    static Answer half(byte[] bytes) {
        return exchange -> {
            exchange.getResponseHeaders().set("ETag", "\"an-etag\"");
            exchange.sendResponseHeaders(200, bytes.length);
            OutputStream out = exchange.getResponseBody();
            out.write(bytes, 0, bytes.length / 2);
            out.flush();
        };
    }

    /** Promises a huge body and sends a few bytes of it. */
    static Answer boast(long promised) {
        return exchange -> {
            exchange.sendResponseHeaders(200, promised);
            exchange.getResponseBody().write(1);
            exchange.getResponseBody().flush();
        };
    }

    /** Repeats {@code part} after {@code beginning} for as long as somebody reads; chunked, or of that length where it is above zero. */
    static Answer endless(int status, long promised, String beginning, String part) {
        return exchange -> {
            exchange.getResponseHeaders().set("ETag", "\"an-etag\"");
            exchange.getResponseHeaders().set("Content-Type", "application/xml");
            exchange.sendResponseHeaders(status, promised);
            OutputStream out = exchange.getResponseBody();
            out.write(beginning.getBytes(UTF_8));
            byte[] more = part.repeat(1 + (64 << 10) / part.length()).getBytes(UTF_8);
            while (true) { // ends when the other side hangs up
                out.write(more);
            }
        };
    }

    /** Sends a byte every {@code millis} milliseconds. */
    Answer dripping(long promised, long millis) {
        return exchange -> {
            exchange.sendResponseHeaders(200, promised);
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

    /** A header of that many bytes. */
    static Answer longHeader(int bytes) {
        return exchange -> {
            exchange.getResponseHeaders().set("x-amz-meta-granary-put", "x".repeat(bytes));
            exchange.sendResponseHeaders(200, -1);
        };
    }

    /** So many headers of a hundred bytes. */
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
