package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Opening a bucket that is not there: a black hole, a closed port, a name that nobody knows. */
class OpeningTest {
    private static final String UNKNOWN = "http://granary-test.invalid:9000";
    private static final List<String> CLIENT_CLASSES =
            List.of("software.amazon.awssdk.", "io.minio.", "okhttp3.", "io.github.resilience4j.", "org.apache.hc.");

    private final ServerSocket blackHole = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final URI closedPort;

    OpeningTest() throws IOException {
        try (ServerSocket gone = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            closedPort = URI.create("http://127.0.0.1:" + gone.getLocalPort());
        }
    }

    @AfterEach
    void close() throws IOException {
        blackHole.close();
    }

    private String blackHole() {
        return "http://127.0.0.1:" + blackHole.getLocalPort();
    }

    @Test
    @DisplayName("R16 opening connects to nobody, loads no class of a client library, and takes no 100 ms, wherever the bucket is")
    void opening(@TempDir Path directory) throws Exception {
        Path classes = directory.resolve("classes");
        Map<String, String> millis = SmallProcess.run(64, OpeningProcess.class, List.of("-Xlog:class+load:file=" + classes),
                List.of(blackHole(), closedPort.toString(), UNKNOWN));
        assertEquals(3, millis.size());
        millis.forEach((endpoint, took) -> assertTrue(Integer.parseInt(took) < 100, () -> endpoint + ": " + took + " ms"));
        try (Stream<String> lines = Files.lines(classes)) {
            List<String> loaded = lines.toList();
            assertTrue(loaded.stream().anyMatch(line -> line.contains(BucketTier.class.getName() + " ")), "the log of classes tells nothing");
            assertEquals(List.of(), loaded.stream().filter(line -> CLIENT_CLASSES.stream().anyMatch(line::contains)).toList());
        }
        blackHole.setSoTimeout(1);
        assertThrows(SocketTimeoutException.class, blackHole::accept, "somebody connected");
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("R16 the first look-up ends within its deadline: a black hole, a closed port, a name that nobody knows")
    void firstLookUp(S3ClientLibrary client) {
        Duration deadline = Duration.ofMillis(1500);
        for (String endpoint : List.of(blackHole(), closedPort.toString(), UNKNOWN)) {
            S3Config config = S3Config.builder("bucket").endpoint(URI.create(endpoint)).client(client).credentials("key", "secret")
                    .requestTimeout(Duration.ofSeconds(1)).loadDeadline(deadline).build();
            try (BucketTier tier = BucketTier.open(config)) {
                long start = System.nanoTime();
                assertInstanceOf(LoadResult.Unavailable.class, tier.load(TestEntries.id("first")), endpoint);
                WireTrial.assertInTime(start, deadline);
            }
        }
    }
}
