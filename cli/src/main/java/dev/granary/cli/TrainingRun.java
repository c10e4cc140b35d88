package dev.granary.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The training run of an ahead-of-time cache. Each argument is a command, in which {@code SERVER}
 * is the address of an S3 server that keeps its objects in this process: so the cache has the
 * classes that a bucket needs.
 */
final class TrainingRun {
    private final Map<String, byte[]> objects = new TreeMap<>();

    private TrainingRun() {}

    public static void main(String[] commands) throws IOException {
        HttpServer server =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", new TrainingRun()::answer);
        server.start();
        String address = "http://127.0.0.1:" + server.getAddress().getPort();
        for (String command : commands) {
            String[] words = command.replace("SERVER", address).split(" ");
            Main.commandLine(words).execute(words);
        }
        server.stop(0);
    }

    private void answer(HttpExchange exchange) throws IOException {
        String key = exchange.getRequestURI().getPath();
        String query = String.valueOf(exchange.getRequestURI().getQuery());
        Headers asked = exchange.getRequestHeaders();
        byte[] found = objects.get(key);
        String range = asked.getFirst("Range");
        if (query.startsWith("list-type")) {
            send(exchange, 200, list(key + "/", query).getBytes(UTF_8));
        } else if ((found != null && asked.containsKey("If-none-match"))
                || (asked.containsKey("If-match")
                        && !etag(found).equals(asked.getFirst("If-match")))) {
            send(exchange, 412, new byte[0]);
        } else if (exchange.getRequestMethod().equals("PUT")) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            objects.put(key, body);
            exchange.getResponseHeaders().set("ETag", etag(body));
            send(exchange, 200, new byte[0]);
        } else if (exchange.getRequestMethod().equals("DELETE")) {
            objects.remove(key);
            send(exchange, 204, new byte[0]);
        } else if (found == null) {
            send(exchange, 404, "<Error><Code>NoSuchKey</Code></Error>".getBytes(UTF_8));
        } else if (range == null) {
            exchange.getResponseHeaders().set("ETag", etag(found));
            send(exchange, 200, found);
        } else {
            sendRange(exchange, range, found);
        }
    }

    /** Answers a range that names its first and last byte, or how many at the end. */
    private static void sendRange(HttpExchange exchange, String range, byte[] content)
            throws IOException {
        String[] bounds = range.substring(range.indexOf('=') + 1).split("-");
        int end = content.length;
        int from = bounds[0].isEmpty()
                ? end - Integer.parseInt(bounds[1])
                : Integer.parseInt(bounds[0]);
        int to = bounds[0].isEmpty() ? end : Math.min(end, Integer.parseInt(bounds[1]) + 1);
        exchange.getResponseHeaders().set("ETag", etag(content));
        exchange.getResponseHeaders()
                .set("Content-Range", "bytes " + from + "-" + (to - 1) + "/" + end);
        send(exchange, 206, Arrays.copyOfRange(content, from, to));
    }

    private static String etag(byte @Nullable [] content) {
        return Integer.toHexString(Arrays.hashCode(content));
    }

    private static void send(HttpExchange exchange, int status, byte[] body) throws IOException {
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private String list(String bucket, String query) {
        String prefix = bucket + query.replaceAll(".*prefix=([^&]*).*", "$1");
        return objects.entrySet().stream()
                .filter(object -> object.getKey().startsWith(prefix))
                .map(object -> """
                        <Contents><Key>%s</Key><Size>%d</Size><ETag>%s</ETag>
                        <LastModified>2026-01-01T00:00:00Z</LastModified></Contents>
                        """.formatted(
                                object.getKey().substring(bucket.length()),
                                object.getValue().length,
                                etag(object.getValue())))
                .collect(Collectors.joining(
                        "",
                        "<ListBucketResult><IsTruncated>false</IsTruncated>",
                        "</ListBucketResult>"));
    }
}
