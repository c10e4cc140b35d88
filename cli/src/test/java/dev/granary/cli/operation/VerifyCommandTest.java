package dev.granary.cli.operation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.gson.JsonObject;

import dev.granary.cache.Sha256;
import dev.granary.cli.Cli;
import dev.granary.cli.output.Report;
import dev.granary.cli.place.EntryCopier;
import dev.granary.local.DirectoryUsage;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.stream.IntStream;

/** Tests of the report of {@code granary verify}. */
class VerifyCommandTest {
    private static String report(boolean isJson, Path directory, DirectoryUsage usage) {
        StringWriter out = new StringWriter();
        Report report = new Report(new PrintWriter(out), new PrintWriter(out), isJson);
        EntryCopier reader = EntryCopier.ofNone(_ -> false, _ -> {});
        for (int i = 0; i < 24; i++) {
            String id = Sha256.of(new byte[i]).hex();
            reader.skipped(
                    1,
                    10,
                    id + ": corrupt: a detail that is longer than a line has room for, "
                            + "\u001b".repeat(40));
        }
        VerifyCommand.add(directory.toString(), reader, report);
        VerifyCommand.add(directory, usage, report);
        report.print();
        return out.toString();
    }

    @Test
    @DisplayName("verify reports damage and foreign files in 80 columns and as JSON")
    void verifyReport() {
        Path at = Path.of("/cache");
        DirectoryUsage usage = new DirectoryUsage(
                25,
                25_000,
                100 << 10,
                2,
                4096,
                IntStream.range(0, 100)
                        .mapToObj(i -> at.resolve("v3/" + i + "\u001b"))
                        .toList(),
                false);
        String text = report(false, at, usage);
        new Cli(0, text, "")
                .isNarrow()
                .prints(
                        "failed     24",
                        ": corrupt: a detail",
                        "... and 4 more",
                        "unfinished 2 files of 4.0 KiB; sweeps remove those older than an hour",
                        "100 files or more");
        assertFalse(text.contains("\u001b"), "T4");
        JsonObject json = new Cli(0, report(true, at, usage), "").json();
        assertEquals(24, json.getAsJsonArray("failures").size());
        assertEquals(100, json.getAsJsonArray("foreign").size());
        assertFalse(json.get("healthy").getAsBoolean());
    }
}
