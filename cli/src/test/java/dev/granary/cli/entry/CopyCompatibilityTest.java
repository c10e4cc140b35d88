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
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.local.LocalTier;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

/** {@code copy} of entries with binaries that are not for their target. */
class CopyCompatibilityTest {
    private static final Target POCL = new Target(Backend.OPENCL, "pocl", "pthread-x", "3.1");
    private static final Target UNKNOWN = new Target(Backend.OPENCL, "acme", "gpu one", "1.0");
    private static final byte[] PTX = ".version 7.0\n.target sm_90\n".getBytes(US_ASCII);

    @TempDir
    private Path directory = Path.of("");

    private static Entry entry(Target target) {
        return TestEntries.entry(
                Id.builder(target).field("test", "copy").build(), KernelBinaries.of(PTX));
    }

    @Test
    @DisplayName("a copied binary for another device is refused and named; one that only the"
            + " driver can judge is copied")
    void incompatible() throws Exception {
        Path from = directory.resolve("from");
        try (LocalTier tier =
                TierFactory.local(GranaryConfig.builder().directory(from).build())) {
            tier.store(entry(POCL));
            tier.store(entry(UNKNOWN));
        }
        JsonObject json = Cli.run(
                        "copy", from.toString(), directory.resolve("into").toString(), "--json")
                .exits(1)
                .json();
        assertEquals(1, json.get("copied").getAsInt(), json::toString);
        assertEquals(1, json.get("failed").getAsInt(), json::toString);
        assertTrue(
                json.getAsJsonArray("failures")
                        .get(0)
                        .getAsJsonObject()
                        .get("cause")
                        .getAsString()
                        .startsWith(entry(POCL).id().hash().hex() + ": incompatible: "),
                json::toString);
    }
}
