package dev.granary.s3;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * An HTTP/1.1 server that writes the bytes of a response itself, for responses that no HTTP library
 * can send.
 */
final class RawHttpServer implements AutoCloseable {
    /**
     * A request.
     *
     * @param line the request line
     */
    record Request(String line) {
        String method() {
            return line.substring(0, line.indexOf(' '));
        }

        boolean isListing() {
            return line.contains("list-type=2");
        }
    }

    /** One connection, as the response to a request sees it. */
    interface Reply {
        void reply(OutputStream out) throws IOException, InterruptedException;
    }

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final AtomicInteger requests = new AtomicInteger();
    private final CountDownLatch closing = new CountDownLatch(1);
    private final ServerSocket server = new ServerSocket(0, 500, InetAddress.getLoopbackAddress());
    private volatile Function<Request, Reply> replies = _ -> silence();
    private volatile boolean isReading = true;

    RawHttpServer() throws IOException {
        threads.execute(() -> {
            try {
                while (true) {
                    Socket connection = server.accept();
                    open.add(connection);
                    threads.execute(() -> serve(connection));
                }
            } catch (IOException e) {
                // closed
            }
        });
    }

    URI endpoint() {
        return URI.create("http://127.0.0.1:" + server.getLocalPort());
    }

    /** Returns the number of requests since the last {@link #replyToEach}. */
    int requests() {
        return requests.get();
    }

    void reply(Reply reply) {
        replyToEach(_ -> reply);
    }

    void replyToEach(Function<Request, Reply> next) {
        replies = next;
        requests.set(0);
    }

    /** Stops reading the bodies of requests. */
    void ignoreBodies() {
        isReading = false;
    }

    /** Sends nothing until the server closes. */
    Reply silence() {
        return _ -> closing.await();
    }

    /** Sends {@code text}, then nothing until the server closes. */
    Reply thenSilence(String text) {
        return out -> {
            out.write(text.getBytes(ISO_8859_1));
            out.flush();
            closing.await();
        };
    }

    /** Sends {@code head} at once, then one byte each {@code millis} milliseconds. */
    Reply dripping(String head, long millis) {
        return out -> {
            out.write(head.getBytes(ISO_8859_1));
            do {
                out.write('x');
                out.flush();
            } while (!closing.await(millis, TimeUnit.MILLISECONDS));
        };
    }

    /**
     * Sends a complete response, the last on its connection; {@code headers} end with a line break
     * each.
     */
    static Reply response(String status, String headers, String body) {
        return out -> {
            byte[] bytes = body.getBytes(UTF_8);
            out.write(("HTTP/1.1 " + status + "\r\n" + headers
                            + "Connection: close\r\nContent-Length: " + bytes.length + "\r\n\r\n")
                    .getBytes(ISO_8859_1));
            out.write(bytes);
            out.flush();
        };
    }

    /** Declares {@code length} bytes and sends zeros until the client disconnects. */
    static Reply flood(long length) {
        return out -> {
            out.write(("HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: " + length + "\r\n\r\n")
                    .getBytes(ISO_8859_1));
            byte[] zeros = new byte[64 << 10];
            for (long left = length; left > 0; left -= zeros.length) {
                out.write(zeros, 0, (int) Math.min(left, zeros.length));
            }
            out.flush();
        };
    }

    private void serve(Socket connection) {
        try (connection) {
            InputStream in = new BufferedInputStream(connection.getInputStream());
            OutputStream out = connection.getOutputStream();
            String head = head(in);
            if (!head.isEmpty()) {
                requests.incrementAndGet();
                if (head.toLowerCase(Locale.ROOT).contains("expect: 100-continue")) {
                    out.write("HTTP/1.1 100 Continue\r\n\r\n".getBytes(ISO_8859_1));
                }
                if (!isReading) {
                    closing.await();
                }
                in.skipNBytes(length(head));
                Request request = new Request(head.substring(0, head.indexOf("\r\n")));
                replies.apply(request).reply(out);
            }
        } catch (IOException e) {
            // the client disconnected first, or the server closes
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            open.remove(connection);
        }
    }

    private static String head(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = in.read();
            if (next < 0) {
                return "";
            }
            head.append((char) next);
        }
        return head.toString();
    }

    private static long length(String head) {
        String text = head.toLowerCase(Locale.ROOT);
        int at = text.indexOf("\r\ncontent-length:");
        return at < 0
                ? 0
                : Long.parseLong(
                        text.substring(at + 17, text.indexOf("\r\n", at + 2)).strip());
    }

    @Override
    public void close() throws IOException {
        closing.countDown();
        server.close();
        for (Socket connection : open) {
            connection.close();
        }
        threads.shutdownNow();
    }
}
