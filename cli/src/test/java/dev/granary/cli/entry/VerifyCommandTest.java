package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.gson.JsonObject;

import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.Cli;
import dev.granary.cli.output.Report;
import dev.granary.coordinator.FakeCatalog;
import dev.granary.local.DirectoryUsage;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.stream.IntStream;

/** Tests of the report of {@code granary verify}. */
class VerifyCommandTest {
    private static final int OF_EACH = 4;

    private static String report(boolean isJson, Path directory, DirectoryUsage usage) {
        StringWriter out = new StringWriter();
        Report report = new Report(new PrintWriter(out), new PrintWriter(out), isJson);
        FakeCatalog catalog = new FakeCatalog();
        catalog.add(new TestEntries("verifyReport").entry(10));
        byte[] hash = new byte[Sha256.BYTES];
        for (int i = 0; i < OF_EACH; i++) {
            for (DamageKind damage : DamageKind.values()) {
                hash[0]++; // in this order the text has each kind
                catalog.add(
                        TestEntries.TARGET.path(),
                        Sha256.ofDigest(hash),
                        new LoadResult.Damaged(
                                damage,
                                "a detail that is longer than a line has room for, "
                                        + "\u001b".repeat(40)));
            }
        }
        EntryCopier reader = EntryCopier.ofNone(_ -> false, _ -> {});
        catalog.all().forEach(listed -> reader.read(catalog, listed));
        VerifyCommand.add(directory.toString(), reader, report);
        VerifyCommand.add(directory, usage, report);
        report.print();
        return out.toString();
    }

    @Test
    @DisplayName("verify reports each kind of damage and foreign files in 80 columns and as JSON;"
            + " entries of other versions are not damage")
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
                        "sound      1 entry (",
                        "failed     28",
                        ": truncated: a detail",
                        ": extended: a detail",
                        ": corrupt: a detail",
                        ": foreign: a detail",
                        ": wrong key: a detail",
                        ": untrusted: a detail",
                        ": too large: a detail",
                        "... and 8 more",
                        "8 entries of other versions, kept for those versions",
                        "unfinished 2 files of 4.0 KiB; sweeps remove those older than an hour",
                        "100 files or more");
        assertFalse(text.contains("\u001b"), "T4");
        JsonObject json = new Cli(0, report(true, at, usage), "").json();
        assertEquals(28, json.getAsJsonArray("failures").size());
        assertEquals(8, json.get("otherVersion").getAsInt());
        assertEquals(100, json.getAsJsonArray("foreign").size());
        assertFalse(json.get("healthy").getAsBoolean());
    }
}
