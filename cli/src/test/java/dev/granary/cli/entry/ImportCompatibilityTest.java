package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.gson.JsonObject;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.Cli;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.stores.LocalTierFactory;
import dev.granary.local.LocalTier;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;

/** {@code import} of entries with binaries that are not for their target. */
class ImportCompatibilityTest {
    private static final Target POCL = new Target(Backend.OPENCL, "pocl", "pthread-x", "3.1");
    private static final Target UNKNOWN = new Target(Backend.OPENCL, "acme", "gpu one", "1.0");
    private static final byte[] PTX = ".version 7.0\n.target sm_90\n".getBytes(US_ASCII);

    @TempDir
    private Path directory = Path.of("");

    private static Entry entry(Target target) {
        return TestEntries.entry(
                Id.builder(target).field("test", "import").build(), KernelBinaries.of(PTX));
    }

    @Test
    @DisplayName("N10 an imported binary for another device is refused and named; one that only the"
            + " driver can judge is imported")
    void incompatible() throws Exception {
        Path from = directory.resolve("from");
        try (LocalTier tier =
                LocalTierFactory.open(GranaryConfig.builder().directory(from).build())) {
            tier.store(entry(POCL));
            tier.store(entry(UNKNOWN));
        }
        String tree = directory.resolve("tree").toString();
        Cli.run("export", tree, "--dir", from.toString()).exits(0);
        String into = directory.resolve("into").toString();
        Cli dry = Cli.run("import", tree, "--dir", into, "--json", "--dry-run");
        for (Cli run : List.of(dry, Cli.run("import", tree, "--dir", into, "--json"))) {
            JsonObject json = run.exits(1).json();
            assertEquals(1, json.get("stored").getAsInt(), json::toString);
            assertEquals(1, json.get("refused").getAsInt(), json::toString);
            JsonObject problem = json.getAsJsonArray("problems").get(0).getAsJsonObject();
            assertTrue(
                    problem.get("detail").getAsString().startsWith("incompatible: "),
                    problem::toString);
            assertTrue(
                    problem.get("place")
                            .getAsString()
                            .contains(entry(POCL).id().hash().hex()),
                    problem::toString);
        }
    }
}
