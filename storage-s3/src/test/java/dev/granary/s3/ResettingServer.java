package dev.granary.s3;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A server that resets connections (TCP RST) instead of responding, and counts the requests. */
final class ResettingServer implements AutoCloseable {
    /** The moment of the reset. */
    enum At {
        /** At the first request of each connection. */
        FIRST,
        /** At the second one: the client had kept the connection alive. */
        SECOND
    }

    private static final byte[] ABSENT =
            "HTTP/1.1 404 Not Found\r\nContent-Type: application/xml\r\nContent-Length: 0\r\n\r\n"
                    .getBytes(ISO_8859_1);

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final AtomicInteger requests = new AtomicInteger();
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final At at;

    ResettingServer(At at) throws IOException {
        this.at = at;
        threads.execute(() -> {
            try {
                while (true) {
                    Socket connection = server.accept();
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

    int requests() {
        return requests.get();
    }

    private void serve(Socket connection) {
        try (connection) {
            connection.setSoLinger(true, 0);
            InputStream in = new BufferedInputStream(connection.getInputStream());
            if (at == At.SECOND && readRequest(in)) {
                connection.getOutputStream().write(ABSENT);
                connection.getOutputStream().flush();
            }
            boolean isRequest = readRequest(in);
            assert isRequest || in.read() < 0;
        } catch (IOException e) {
            // the client disconnected first
        }
    }

    /** Reads one request with its body; returns false if the connection ended instead. */
    private boolean readRequest(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = in.read();
            if (next < 0) {
                return false;
            }
            head.append((char) next);
        }
        requests.incrementAndGet();
        String text = head.toString().toLowerCase(Locale.ROOT);
        int length = text.indexOf("\r\ncontent-length:");
        // with an expected "continue" the body has not been sent yet
        if (length >= 0 && !text.contains("\r\nexpect:")) {
            int start = length + "\r\ncontent-length:".length();
            in.skipNBytes(Long.parseLong(
                    text.substring(start, text.indexOf("\r\n", start)).strip()));
        }
        return true;
    }

    @Override
    public void close() throws IOException {
        server.close();
        threads.shutdownNow();
    }
}
