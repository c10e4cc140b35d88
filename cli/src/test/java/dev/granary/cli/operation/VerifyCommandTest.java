package dev.granary.cli.operation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.Cli;
import dev.granary.cli.output.Report;
import dev.granary.cli.place.EntryVerifier;
import dev.granary.coordinator.FakeCatalog;
import dev.granary.local.DirectoryUsage;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.stream.IntStream;

/** Tests of the report of {@code granary verify}. */
class VerifyCommandTest {
    private static String report(
            boolean isJson, Path directory, FakeCatalog catalog, DirectoryUsage usage) {
        StringWriter out = new StringWriter();
        Report report = new Report(new PrintWriter(out), new PrintWriter(out), isJson);
        VerifyCommand.add(
                directory,
                EntryVerifier.all(catalog, catalog.all(), _ -> false, _ -> {}),
                usage,
                report);
        report.print();
        return out.toString();
    }

    @Test
    @DisplayName(
            "D6 verify reports every kind of damage in 80 columns and as JSON; entries of other"
                    + " versions are not damage")
    void verifyReport() {
        FakeCatalog catalog = new FakeCatalog();
        catalog.add(new TestEntries("verifyReport").entry(10));
        for (DamageKind damage : DamageKind.values()) {
            for (int i = 0; i < 3; i++) {
                catalog.add(
                        TestEntries.TARGET.path(),
                        Sha256.of((damage.name() + i).getBytes(StandardCharsets.UTF_8)),
                        new LoadResult.Damaged(
                                damage,
                                "a detail that is longer than a line has room for, "
                                        + "\u001b".repeat(40)));
            }
        }
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
        new Cli(0, report(false, at, catalog, usage), "")
                .isNarrow()
                .prints(
                        "truncated",
                        "extended",
                        "corrupt",
                        "foreign",
                        "wrong key",
                        "too old",
                        "too new",
                        "too large",
                        "... and 4 more",
                        "unfinished 2 files of 4.0 KiB; sweeps remove those older than an hour",
                        "100 files or more",
                        "There is damage.",
                        "Entries of other versions are kept for those versions.");
        assertFalse(report(false, at, catalog, usage).contains("\u001b"), "T4");
        JsonObject json = new Cli(0, report(true, at, catalog, usage), "").json();
        assertEquals(24, json.getAsJsonArray("damaged").size());
        assertTrue(
                json.getAsJsonArray("found").asList().stream()
                        .map(JsonElement::getAsJsonObject)
                        .anyMatch(kind -> kind.get("found").getAsString().equals("too new")
                                && kind.get("entries").getAsInt() == 3),
                json::toString);
        assertEquals(100, json.getAsJsonArray("foreign").size());
        assertFalse(json.get("healthy").getAsBoolean());
    }
}
