package dev.granary.coordinator;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The part of an S3 server that a bucket tier needs, with faults: objects in memory, PUT and GET,
 * signatures unchecked.
 */
final class MinimalS3Server implements AutoCloseable {
    final Map<String, byte[]> objects = new ConcurrentHashMap<>();

    /** The number of requests for entries, without those for packs and the store marker. */
    final AtomicInteger gets = new AtomicInteger();

    final AtomicInteger puts = new AtomicInteger();
    volatile Duration delay = Duration.ZERO;
    volatile boolean refusesWrites;
    private final ServerSocket listener;

    MinimalS3Server() throws IOException {
        this.listener = new ServerSocket(0, 1000, InetAddress.getLoopbackAddress());
        Thread.ofPlatform().daemon().start(this::listen);
    }

    String endpoint() {
        return "http://127.0.0.1:" + listener.getLocalPort();
    }

    private void listen() {
        while (!listener.isClosed()) {
            try {
                Socket client = listener.accept();
                Thread.ofPlatform().daemon().start(() -> serve(client));
            } catch (IOException e) {
                return; // closed
            }
        }
    }

    private void serve(Socket client) {
        try (client;
                InputStream in = new BufferedInputStream(client.getInputStream());
                OutputStream out = client.getOutputStream()) {
            String[] request = line(in).split(" ");
            if (request.length < 2) {
                return; // a connection that only tries the address
            }
            int length = 0;
            for (String header = line(in); !header.isEmpty(); header = line(in)) {
                if (header.regionMatches(true, 0, "content-length:", 0, 15)) {
                    length = Integer.parseInt(header.substring(15).strip());
                }
            }
            byte[] body = in.readNBytes(length);
            Thread.sleep(delay); // the simulated latency
            answer(out, request[0], request[1].replaceFirst("\\?.*", ""), body);
        } catch (IOException | InterruptedException e) {
            // the client has disconnected
        }
    }

    private void answer(OutputStream out, String method, String path, byte[] body)
            throws IOException {
        byte[] stored = objects.getOrDefault(path, new byte[0]);
        if (path.contains("/e/")) {
            (method.equals("PUT") ? puts : gets).incrementAndGet();
        }
        if (method.equals("PUT")) {
            if (refusesWrites) {
                send(
                        out,
                        "403 Forbidden",
                        "<Error><Code>AccessDenied</Code></Error>".getBytes(ISO_8859_1));
            } else if (objects.putIfAbsent(path, body) == null) {
                send(out, "200 OK", new byte[0]);
            } else {
                send(
                        out,
                        "412 Precondition Failed",
                        "<Error><Code>PreconditionFailed</Code></Error>".getBytes(ISO_8859_1));
            }
        } else if (stored.length > 0) {
            send(out, "200 OK", stored);
        } else {
            send(
                    out,
                    "404 Not Found",
                    "<Error><Code>NoSuchKey</Code></Error>".getBytes(ISO_8859_1));
        }
    }

    private static void send(OutputStream out, String status, byte[] body) throws IOException {
        String head =
                "HTTP/1.1 " + status + "\r\nETag: \"0\"\r\nConnection: close\r\nContent-Length: "
                        + body.length + "\r\n\r\n";
        out.write(head.getBytes(ISO_8859_1));
        out.write(body);
        out.flush();
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next >= 0 && next != '\n'; next = in.read()) {
            line.append((char) next);
        }
        return line.toString().strip();
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
