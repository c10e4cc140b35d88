package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.gpu.opencl.OpenCl;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Tests of the commands as processes with a heap of 256 MB, against servers that declare 5 GiB or
 * list without end: each command ends by itself, with 1 and a cause.
 */
class HostileBucketTest {
    /** Far longer than any limit: only a command that hangs takes this long. */
    private static final Duration HANG = Duration.ofMinutes(30);

    /** The system property that enables the slow tests. */
    private static final String WHOLE = "granary.hostile.whole";

    private static final long HUGE = 5L << 30;
    private static final String TARGET = "opencl/somebody-has";
    private static final List<String> LS = List.of("ls", "s3://kernels/ci");
    private static final List<String> WARM = List.of("warm", "--target", TARGET);
    private static final List<String> COMPACT = List.of("compact", "--target", TARGET);
    private static final String HEX = "0123456789abcdef";

    private final Path directory;

    HostileBucketTest(@TempDir Path directory) {
        this.directory = directory;
    }

    /** A response, written byte by byte. */
    private interface Response {
        void to(String requestLine, OutputStream out) throws IOException;
    }

    /** An HTTP/1.1 server that serves one request per connection. */
    private static final class Server implements AutoCloseable {
        private final ServerSocket socket =
                new ServerSocket(0, 500, InetAddress.getLoopbackAddress());
        private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

        Server(Response response) throws IOException {
            threads.execute(() -> {
                try {
                    while (true) {
                        Socket connection = socket.accept();
                        threads.execute(() -> serve(connection, response));
                    }
                } catch (IOException e) {
                    // closed
                }
            });
        }

        String endpoint() {
            return "http://127.0.0.1:" + socket.getLocalPort();
        }

        private static void serve(Socket connection, Response response) {
            try (connection) {
                InputStream in = new BufferedInputStream(connection.getInputStream());
                OutputStream out = connection.getOutputStream();
                StringBuilder head = new StringBuilder();
                for (int next = in.read(); next >= 0; next = in.read()) {
                    head.append((char) next);
                    if (head.length() > 3 && head.substring(head.length() - 4).equals("\r\n\r\n")) {
                        in.skipNBytes(length(head.toString().toLowerCase(Locale.ROOT)));
                        response.to(head.substring(0, head.indexOf("\r\n")), out);
                        return;
                    }
                }
            } catch (IOException e) {
                // the client disconnected, or the server closes
            }
        }

        private static long length(String head) {
            int at = head.indexOf("\r\ncontent-length:");
            return at < 0
                    ? 0
                    : Long.parseLong(head.substring(at + 17, head.indexOf("\r\n", at + 2))
                            .strip());
        }

        @Override
        public void close() throws IOException {
            socket.close();
            threads.shutdownNow();
        }
    }

    private static void respond(OutputStream out, String status, String body) throws IOException {
        byte[] bytes = body.getBytes(UTF_8);
        out.write(("HTTP/1.1 " + status
                        + "\r\n"
                        + "ETag: \"e\"\r\n"
                        + "Content-Type: application/xml\r\n"
                        + "Connection: close\r\n"
                        + "Content-Length: "
                        + bytes.length + "\r\n\r\n")
                .getBytes(ISO_8859_1));
        out.write(bytes);
        out.flush();
    }

    /** Declares 5 GiB, and sends zeros as long as the client reads. */
    private static void huge(String line, OutputStream out) throws IOException {
        if (!line.startsWith("GET") && !line.startsWith("HEAD")) {
            respond(out, "200 OK", "");
            return;
        }
        out.write(("HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: " + HUGE + "\r\n\r\n")
                .getBytes(ISO_8859_1));
        byte[] zeros = new byte[64 << 10];
        for (long left = line.startsWith("GET") ? HUGE : 0; left > 0; left -= zeros.length) {
            out.write(zeros);
        }
    }

    private static boolean isListing(String line) {
        return line.contains("list-type=2");
    }

    private static String page(String objects, long number) {
        return "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><Name>kernels</Name>"
                + "<Prefix></Prefix><MaxKeys>1000</MaxKeys><KeyCount>1</KeyCount>"
                + "<IsTruncated>" + (number >= 0) + "</IsTruncated><NextContinuationToken>" + number
                + "</NextContinuationToken>" + objects + "</ListBucketResult>";
    }

    private static String entry(Random random) {
        String name = IntStream.range(0, 64)
                .mapToObj(_ -> String.valueOf(HEX.charAt(random.nextInt(16))))
                .collect(Collectors.joining());
        return "<Contents><Key>ci/v2/" + TARGET + "/e/" + name.substring(0, 2) + "/" + name
                + "</Key><Size>1000</Size><ETag>\"e\"</ETag>"
                + "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>";
    }

    /** Lists that many new entries on each of infinitely many pages. Nothing else exists. */
    private static Response endless(int onPage) {
        AtomicLong pages = new AtomicLong();
        Random random = new Random(1);
        return (line, out) -> {
            if (isListing(line) && onPage > 0 && line.matches(".*(%2F|/)[mp](%2F|/).*")) {
                // no packs: a compaction continues with the entries
                respond(out, "200 OK", page("", -1));
            } else if (isListing(line)) {
                long number = pages.incrementAndGet();
                String entries;
                synchronized (random) {
                    entries = IntStream.range(0, onPage)
                            .mapToObj(_ -> entry(random))
                            .collect(Collectors.joining());
                }
                respond(out, "200 OK", page(entries, number));
            } else {
                respond(
                        out,
                        "404 Not Found",
                        line.startsWith("HEAD")
                                ? ""
                                : "<Error><Code>NoSuchKey</Code><Message>no</Message></Error>");
            }
        };
    }

    /** Lists a few entries, each of which is declared as 5 GiB. There is no manifest. */
    private static Response hugeEntries() {
        String few = page(
                IntStream.range(0, 40)
                        .mapToObj(i -> entry(new Random(i)))
                        .collect(Collectors.joining()),
                -1);
        return (line, out) -> {
            if (isListing(line)) {
                respond(
                        out,
                        "200 OK",
                        line.contains("%2Fe%2F") || line.contains("/e/") ? few : page("", -1));
            } else if (line.contains("/e/")) {
                huge(line, out);
            } else {
                respond(
                        out,
                        "404 Not Found",
                        line.startsWith("HEAD")
                                ? ""
                                : "<Error><Code>NoSuchKey</Code><Message>no</Message></Error>");
            }
        };
    }

    private Cli process(Server server, List<String> arguments) throws Exception {
        List<String> all = new ArrayList<>(arguments);
        all.addAll(List.of("--endpoint", server.endpoint()));
        if (!arguments.equals(LS)) {
            all.addAll(List.of(
                    "--dir",
                    directory.resolve("local of " + arguments.getFirst()).toString()));
            if (!arguments.equals(COMPACT)) {
                all.add("--bucket");
            }
            all.add("s3://kernels/ci");
        }
        ChildJvm.Recording command = ChildJvm.of(Main.class)
                .shortLived()
                .flags("-Xmx256m")
                .variables(Map.of(
                        "GRANARY_BUCKET",
                        "",
                        "GRANARY_CONFIG",
                        "",
                        "AWS_ACCESS_KEY_ID",
                        "nobody",
                        "AWS_SECRET_ACCESS_KEY",
                        "nothing"))
                .record(all.toArray(String[]::new));
        try {
            assertTrue(
                    command.process().waitFor(HANG.toSeconds(), TimeUnit.SECONDS),
                    () -> arguments + " hangs");
        } finally {
            command.process().destroyForcibly();
        }
        return Cli.of(command.end());
    }

    private void assertEachEnds(Response response, List<List<String>> commands) throws Exception {
        Map<List<String>, Future<Cli>> running = new LinkedHashMap<>();
        List<Executable> all = new ArrayList<>();
        try (Server server = new Server(response);
                ExecutorService threads = Executors.newCachedThreadPool()) {
            for (List<String> arguments : commands) {
                running.put(arguments, threads.submit(() -> {
                    long start = System.nanoTime();
                    Cli ended = process(server, arguments);
                    System.out.printf(
                            Locale.ROOT,
                            "%s: %d after %d ms: %s%n",
                            arguments.getFirst(),
                            ended.status(),
                            TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start),
                            (ended.out() + ended.err()).replace('\n', '|'));
                    return ended;
                }));
            }
            for (Future<Cli> command : running.values()) {
                Cli ended = command.get();
                all.add(() -> {
                    ended.exits(1);
                    assertFalse((ended.out() + ended.err()).isBlank(), ended::toString);
                    assertFalse(
                            (ended.out() + ended.err())
                                    .matches("(?s).*(OutOfMemory|\tat |internal error).*"),
                            ended::toString);
                });
            }
        }
        assertAll(all);
    }

    private List<String> populate() throws IOException {
        Files.writeString(
                directory.resolve("add.cl"),
                "__kernel void add(__global float *a) { a[get_global_id(0)] += 1.0f; }\n");
        return List.of(
                "populate",
                Files.writeString(
                                directory.resolve("kernels.toml"),
                                "[[kernel]]\nname = 'add'\nsource = 'add.cl'\n")
                        .toString());
    }

    private static void assumeDevice() {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
    }

    @Test
    @DisplayName("every length is declared as 5 GiB: populate and compact end with 1 and a cause,"
            + " in a heap of 256 MB")
    void hugeLengths() throws Exception {
        assumeDevice();
        assertEachEnds(HostileBucketTest::huge, List.of(populate(), COMPACT));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("entries that are listed as small and declared as 5 GiB: warm reports that they"
            + " are too long, in a heap of 256 MB")
    void hugeEntriesOnly() throws Exception {
        assertEachEnds(hugeEntries(), List.of(WARM));
    }

    @Test
    @DisplayName("a listing of empty pages without end: ls ends with 1 and the cause")
    void emptyPages() throws Exception {
        assertEachEnds(endless(0), List.of(LS));
    }

    @Test
    @DisplayName("the other commands against the same servers")
    @EnabledIfSystemProperty(
            named = WHOLE,
            matches = "true",
            disabledReason = "seconds for each process; -D" + WHOLE + "=true runs it")
    void otherCommands() throws Exception {
        assumeDevice();
        assertEachEnds(HostileBucketTest::huge, List.of(WARM, LS));
        assertEachEnds(endless(0), List.of(WARM, COMPACT));
        assertEachEnds(endless(1), List.of(LS, WARM));
    }

    @Test
    @DisplayName("a listing of a thousand new entries a page without end: ls, warm and compact"
            + " end with 1 and the cause, in a heap of 256 MB")
    @EnabledIfSystemProperty(
            named = WHOLE,
            matches = "true",
            disabledReason = "takes minutes; -D" + WHOLE + "=true runs it")
    void fullPages() throws Exception {
        assertEachEnds(endless(1000), List.of(LS, WARM, COMPACT));
    }
}
