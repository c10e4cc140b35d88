package dev.granary.gpu.binary;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.testing.ChildJvm;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Fuzz tests of containers by Jazzer, which mutates inputs towards code that none has reached. The
 * property {@code granary.fuzz.runs} sets their number.
 */
@Tag("exhaustive")
class CoverageFuzzTest {
    private static final long RUNS = TestRuns.count(50_000);
    private static final int BROKEN_RUNS = 100_000;

    /** Runs of one process, which has a time limit. The next one goes on with its corpus. */
    private static final long PART = 1_000_000;

    private static final String JAZZER = "com.code_intelligence.jazzer.Jazzer";

    @TempDir
    Path directory;

    @BeforeEach
    void writeCorpus() throws IOException {
        assumeTrue(
                System.getProperty("os.name").equals("Linux")
                        && System.getProperty("os.arch").equals("amd64"),
                "Jazzer's native code was run on Linux x86-64 only");
        Path corpus = Files.createDirectories(directory.resolve("corpus"));
        for (String name : SampleBinaries.ALL) {
            Files.write(corpus.resolve(name), SampleBinaries.bytes(name));
        }
        Files.write(
                corpus.resolve("pocl"),
                PoclBinaryWriter.binary(
                        SampleBinaries.POCL.device(), 9, "/program.bc", "/scale/0/scale.so"));
    }

    private static Class<?> jazzer() {
        try {
            return Class.forName(JAZZER);
        } catch (ClassNotFoundException e) {
            return abort("com.code-intelligence:jazzer is not on the class path");
        }
    }

    private ChildJvm.Result fuzz(Class<?> target, long runs, long part)
            throws IOException, InterruptedException {
        return ChildJvm.of(jazzer())
                .flags(
                        "-Xmx128m",
                        "-XX:+EnableDynamicAgentLoading",
                        "--sun-misc-unsafe-memory-access=allow")
                .directory(directory)
                .mergeErrors()
                .run(
                        "--target_class=" + target.getName(),
                        "--instrumentation_includes=dev.granary.gpu.binary.**",
                        "-runs=" + runs,
                        "-seed=" + ((TestSeed.VALUE + part) & Integer.MAX_VALUE),
                        "-max_len=8192",
                        "-rss_limit_mb=4096",
                        directory.resolve("corpus").toString());
    }

    @Test
    @DisplayName("Fuzz: bytes that reach new code have a container and a result, too")
    void containers() throws Exception {
        long done = 0;
        for (long part = 0; done < RUNS; part++) {
            long runs = Math.min(PART, RUNS - done);
            ChildJvm.Result result = fuzz(Containers.class, runs, part);
            assertEquals(0, result.exitCode(), result.toString());
            assertTrue(result.out().contains("Done " + runs + " runs"), result.toString());
            done += runs;
            if (done % PART == 0) {
                System.out.println(done + " inputs by Jazzer, without an exception");
            }
        }
    }

    @Test
    @DisplayName("Fuzz: a reader that trusts a length is found")
    void brokenReader() throws Exception {
        ChildJvm.Result result = fuzz(TrustingReader.class, BROKEN_RUNS, 0);
        assertNotEquals(0, result.exitCode(), result.toString());
        assertTrue(result.out().contains("ArrayIndexOutOfBoundsException"), result.toString());
    }

    /** The readers and the check, as Jazzer calls them. */
    public static final class Containers {
        private Containers() {}

        /** Reads an input. */
        public static void fuzzerTestOneInput(byte[] input) {
            BinaryFuzzTest.read(input);
        }
    }

    /** A reader of PoCL's header that does not check the number of kernels. */
    public static final class TrustingReader {
        private TrustingReader() {}

        /** Reads an input. */
        public static void fuzzerTestOneInput(byte[] input) {
            if (new String(input, ISO_8859_1).startsWith("poclbin") && input[input[20]] == -1) {
                System.out.println("a kernel");
            }
        }
    }
}
