package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.List;

/** Tests of layers that cannot be reached when a program starts. */
class StartTest {
    private final FakeBucket bucket = new FakeBucket();
    private final FakeEngine engine = new FakeEngine("one");
    private final TestNode node;

    StartTest(@TempDir Path directory) {
        this.node = new TestNode(directory.resolve("local"), bucket);
    }

    /** Runs an action, and returns the lines that it logs about a layer. */
    private static List<String> logged(String layer, Action action) throws Exception {
        PrintStream err = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, UTF_8));
        try {
            action.run();
        } finally {
            System.setErr(err);
        }
        return log.toString(UTF_8).lines().filter(line -> line.contains(layer)).toList();
    }

    private interface Action {
        void run() throws Exception;
    }

    @Test
    @DisplayName("A port that refuses connections is known without a request: lookups compile, and"
            + " one line has the cause")
    void refused() throws Exception {
        int port;
        try (ServerSocket closed = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = closed.getLocalPort();
        }
        String address = "http://127.0.0.1:" + port;
        List<String> lines = logged("s3://kernels", () -> {
            try (Granary granary = Granary.open(node.config()
                    .bucket("s3://kernels?access=read&endpoint=" + address)
                    .build())) {
                for (int i = 0; i < 3; i++) {
                    assertEquals(
                            PrimitiveSource.COMPILED,
                            granary.lookup(engine, FakeDescriptor.of("kernel " + i))
                                    .source());
                }
                LayerStatistics layer = granary.statistics().layers().getFirst();
                assertEquals(3, layer.results().unavailable());
                assertEquals(0, layer.requests().orElseThrow().sent());
                assertEquals(
                        "127.0.0.1:" + port + " refuses the connection",
                        layer.failure().orElse(""));
            }
        });
        assertEquals(1, lines.size(), lines::toString);
        assertTrue(
                lines.getFirst()
                        .contains("s3://kernels at " + address + " does not work: 127.0.0.1:" + port
                                + " refuses the connection. Lookups have lost "),
                lines::toString);
    }

    @Test
    @DisplayName("An upload to a port that refuses connections sends no request either")
    void refusedUpload() throws Exception {
        try (Granary granary = Granary.open(
                node.config().bucket("s3://kernels?endpoint=http://127.0.0.1:1").build())) {
            granary.primitive(engine, FakeDescriptor.of("a"));
            granary.flush(TestNode.LONG);
            LayerStatistics layer = granary.statistics().layers().getFirst();
            assertEquals(0, layer.requests().orElseThrow().sent());
        }
    }

    @Test
    @DisplayName("A layer that fails is told once, and when it works again")
    void again() throws Exception {
        bucket.behavior = FakeBucket.Behavior.IS_DOWN;
        // of its own name: other tests of this process may have logged the same failure of theirs
        List<String> lines = logged("s3://again", () -> {
            try (Granary granary = node.open("s3://again", TestNode.LONG)) {
                granary.primitive(engine, FakeDescriptor.of("a"));
                granary.primitive(engine, FakeDescriptor.of("b"));
                bucket.behavior = FakeBucket.Behavior.WORKS;
                granary.primitive(engine, FakeDescriptor.of("c"));
                granary.primitive(engine, FakeDescriptor.of("d"));
                granary.flush(TestNode.LONG);
            }
        });
        assertTrue(lines.get(0).contains(" WARN "), lines::toString);
        assertTrue(lines.get(0).contains("does not work: no route to host"), lines::toString);
        assertTrue(lines.get(1).contains("s3://again works again"), lines::toString);
        assertEquals(
                1, lines.stream().filter(line -> line.contains("does not work")).count());
    }
}
