package dev.granary.s3.contract;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * One complete HTTP/1.1 request or response: its original header lines, and its body without
 * framing. Immutable.
 */
final class HttpMessage {
    private static final byte[] EMPTY = {};

    private final List<String> lines;
    private final byte[] body;

    private HttpMessage(List<String> lines, byte[] body) {
        this.lines = List.copyOf(lines);
        this.body = body;
    }

    /** Creates a response. */
    static HttpMessage answer(int status, byte[] body, String... headers) {
        List<String> lines = new ArrayList<>(List.of("HTTP/1.1 " + status + " As-Told"));
        lines.addAll(List.of(headers));
        lines.add("Content-Length: " + body.length);
        return new HttpMessage(lines, body);
    }

    /**
     * Reads the head of a message; its body stays in the stream.
     *
     * @throws EOFException if the stream ends early
     */
    static HttpMessage readHead(InputStream in) throws IOException {
        List<String> lines = new ArrayList<>();
        while (true) {
            String line = readLine(in);
            if (!line.isEmpty()) {
                lines.add(line);
            } else if (!lines.isEmpty()) {
                return new HttpMessage(lines, EMPTY);
            }
        }
    }

    /** Returns this head with its body, read from the stream at the declared length. */
    HttpMessage withBody(InputStream in) throws IOException {
        if (header("Transfer-Encoding")
                .filter(value -> value.toLowerCase(Locale.ROOT).contains("chunked"))
                .isPresent()) {
            byte[] whole = readChunks(in);
            return new HttpMessage(lines, whole)
                    .without("Transfer-Encoding")
                    .with("Content-Length", Integer.toString(whole.length));
        }
        int length = header("Content-Length").map(Integer::parseInt).orElse(0);
        byte[] whole = in.readNBytes(length);
        if (whole.length < length) {
            throw new EOFException("The connection ended in a body");
        }
        return new HttpMessage(lines, whole);
    }

    private static byte[] readChunks(InputStream in) throws IOException {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        while (true) {
            int length = Integer.parseInt(readLine(in).replaceAll(";.*", "").strip(), 16);
            whole.write(in.readNBytes(length));
            String end = readLine(in);
            while (length == 0 && !end.isEmpty()) { // trailers
                end = readLine(in);
            }
            if (length == 0) {
                return whole.toByteArray();
            }
        }
    }

    private static String readLine(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        while (true) {
            int next = in.read();
            if (next < 0) {
                throw new EOFException("The connection ended");
            } else if (next == '\n') {
                return line.toString(ISO_8859_1);
            } else if (next != '\r') {
                line.write(next);
            }
        }
    }

    /** Returns the request line, or the status line. */
    String firstLine() {
        return lines.getFirst();
    }

    /** Returns the status of a response. */
    int status() {
        return Integer.parseInt(firstLine().split(" ", 3)[1]);
    }

    Optional<String> header(String name) {
        return lines.stream()
                .skip(1)
                .filter(line -> isNamed(line, name))
                .map(line -> line.substring(name.length() + 1).strip())
                .findFirst();
    }

    byte[] body() {
        return body;
    }

    HttpMessage without(String name) {
        return new HttpMessage(
                lines.stream().filter(line -> !isNamed(line, name)).toList(), body);
    }

    HttpMessage with(String name, String value) {
        List<String> changed = new ArrayList<>(without(name).lines);
        changed.add(name + ": " + value);
        return new HttpMessage(changed, body);
    }

    /** Returns this response with more bytes at the end of its body. */
    HttpMessage longer(byte[] more) {
        byte[] whole = Arrays.copyOf(body, body.length + more.length);
        System.arraycopy(more, 0, whole, body.length, more.length);
        return new HttpMessage(lines, whole).with("Content-Length", Integer.toString(whole.length));
    }

    /** Returns this response without its body, as to a HEAD. */
    HttpMessage bodiless() {
        return new HttpMessage(lines, EMPTY);
    }

    /** Returns head and body as sent over the wire. */
    byte[] bytes() {
        byte[] head = (String.join("\r\n", lines) + "\r\n\r\n").getBytes(ISO_8859_1);
        byte[] whole = Arrays.copyOf(head, head.length + body.length);
        System.arraycopy(body, 0, whole, head.length, body.length);
        return whole;
    }

    private static boolean isNamed(String line, String name) {
        return line.length() > name.length()
                && line.charAt(name.length()) == ':'
                && line.regionMatches(true, 0, name, 0, name.length());
    }
}
