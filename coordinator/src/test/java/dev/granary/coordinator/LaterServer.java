package dev.granary.coordinator;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.regex.Pattern;

/** A path to a server whose clock is ahead, so that its objects are old. */
public final class LaterServer implements AutoCloseable {
    private static final Pattern DATE = Pattern.compile("\r\nDate: [^\r]{29}\r\n");
    private static final DateTimeFormatter FORMAT =
            DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ROOT);

    private final ServerSocket listening;
    private final URI behind;
    private final Duration ahead;

    public LaterServer(String endpoint, Duration ahead) throws IOException {
        this.behind = URI.create(endpoint);
        this.ahead = ahead;
        this.listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    public String endpoint() {
        return "http://127.0.0.1:" + listening.getLocalPort();
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                Socket client = listening.accept();
                Socket server = new Socket(behind.getHost(), behind.getPort());
                Thread.ofVirtual().start(() -> copy(client, server, false));
                Thread.ofVirtual().start(() -> copy(server, client, true));
            } catch (IOException e) {
                return; // closed
            }
        }
    }

    private void copy(Socket from, Socket to, boolean isLater) {
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            byte[] bytes = new byte[1 << 16];
            int read;
            while ((read = in.read(bytes)) > 0) {
                String text = new String(bytes, 0, read, ISO_8859_1);
                out.write((isLater ? later(text) : text).getBytes(ISO_8859_1));
                out.flush();
            }
        } catch (IOException e) {
            // the other side has closed the connection
        }
    }

    /** Replaces dates by later ones of the same length; a header arrives as a whole. */
    private String later(String text) {
        String date = ZonedDateTime.now(ZoneOffset.UTC).plus(ahead).format(FORMAT);
        return DATE.matcher(text).replaceAll("\r\nDate: " + date + "\r\n");
    }

    @Override
    public void close() throws IOException {
        listening.close();
    }
}
