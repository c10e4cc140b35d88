package dev.granary.benchmarks.bucket.server;

import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.config.S3Location;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A route to the server: direct, or through a proxy that delays each request.
 *
 * @param delayMillis the delay of each request in milliseconds; 0 for the direct route
 * @param told the environment variables for programs that use the route
 * @param statistics the Unix socket over which the proxy reports its statistics; empty for the
 *     direct route
 */
public record ServerRoute(int delayMillis, Map<String, String> told, Optional<Path> statistics) {
    private static final int NAMES_LINE = 0;

    /** Returns the name for the terminal. */
    public String label() {
        return delayMillis == 0 ? "direct" : "+" + delayMillis + " ms";
    }

    /** Returns the name for the JSON and for files. */
    public String name() {
        return delayMillis == 0 ? "direct" : delayMillis + "ms";
    }

    public URI endpoint() {
        return URI.create(told("GRANARY_S3_ENDPOINT"));
    }

    public String bucket() {
        return S3Location.parse(told("GRANARY_BUCKET")).bucket();
    }

    /** Returns the environment variables that the AWS SDK and the tools read. */
    public Map<String, String> credentials() {
        Map<String, String> credentials = new HashMap<>();
        for (String name : List.of("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")) {
            credentials.put(name, told(name));
        }
        return credentials;
    }

    /** Returns the settings for a prefix of the bucket. */
    public S3ConfigBuilder config(String prefix) {
        return S3Config.builder(new S3Location(bucket(), prefix))
                .endpoint(endpoint())
                .region(told("AWS_REGION"))
                .credentials(told("AWS_ACCESS_KEY_ID"), told("AWS_SECRET_ACCESS_KEY"));
    }

    /** Returns the number of requests over this route so far; empty on the direct route. */
    public Optional<Long> requests() throws IOException {
        return statistics.isEmpty() ? Optional.empty() : Optional.of(requests(statistics.get()));
    }

    /** Reads the statistics of HAProxy: lines of comma-separated values below a line of names. */
    private static long requests(Path socket) throws IOException {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.connect(UnixDomainSocketAddress.of(socket));
            channel.write(ByteBuffer.wrap("show stat\n".getBytes(StandardCharsets.US_ASCII)));
            String answer = new String(
                    Channels.newInputStream(channel).readAllBytes(), StandardCharsets.US_ASCII);
            List<String> lines = answer.lines().toList();
            int column = Arrays.asList(lines.get(NAMES_LINE).split(",")).indexOf("req_tot");
            for (String line : lines) {
                String[] values = line.split(",", -1);
                if (column > 0 && values.length > column && values[1].equals("FRONTEND")) {
                    return Long.parseLong(values[column]);
                }
            }
            throw new IOException("The proxy tells no number of requests: " + answer);
        }
    }

    private String told(String name) {
        String value = told.get(name);
        if (value == null) {
            throw new IllegalStateException("The server's script does not tell " + name);
        }
        return value;
    }
}
