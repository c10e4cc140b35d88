package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.s3.contract.TestS3;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A fleet of unlike processors on one bucket: PoCL takes the identity of a processor from
 * {@code POCL_KERNELLIB_NAME}, and rejects binaries of another one.
 */
@ExtendWith(WithDevice.class)
class HeterogeneousFleetTest {
    /** The names of PoCL's processor identities, each with its flag in {@code /proc/cpuinfo}. */
    private static final List<Map.Entry<String, String>> IDENTITIES = List.of(
            Map.entry("sse2", "sse2"),
            Map.entry("ssse3", "ssse3"),
            Map.entry("sse41", "sse4_1"),
            Map.entry("avx", "avx"),
            Map.entry("avx_f16c", "f16c"),
            Map.entry("avx2", "avx2"),
            Map.entry("avx512", "avx512f"));

    private final Map<String, String> bucket = TestS3.server().environment();

    @TempDir
    private Path directory = Path.of("");

    private static List<String> identities() throws Exception {
        Path description = Path.of("/proc/cpuinfo");
        if (!Files.exists(description)) {
            return List.of();
        }
        Set<String> flags =
                new HashSet<>(Arrays.asList(Files.readString(description).split("\\s+")));
        return IDENTITIES.stream()
                .filter(identity -> flags.contains(identity.getValue()))
                .map(Map.Entry::getKey)
                .toList();
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("two identities of one machine share a bucket and a directory, no entry")
    void two() throws Exception {
        List<String> all = identities();
        assumeTrue(all.size() >= 2, "this processor has fewer than two identities in PoCL");
        compiledOnceEach(List.of(all.getFirst(), all.getLast()));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("all identities of this processor share a bucket and a directory, no entry")
    void all() throws Exception {
        List<String> all = identities();
        assumeTrue(all.size() >= 2, "this processor has fewer than two identities in PoCL");
        compiledOnceEach(all);
    }

    private void compiledOnceEach(List<String> identities) throws Exception {
        Path manifest = directory.resolve("kernels.toml");
        Files.writeString(manifest, """
            [[kernel]]
            name = "two"
            source = "%s/two.cl"
            """.formatted(TestManifests.resources()));
        Set<String> ids = new HashSet<>();
        for (String identity : identities) {
            GranaryProcess.Result ci = run(identity, "ci-" + identity, manifest);
            assertEquals(1, ci.summary("compiled"), ci::toString);
            ids.add(id(ci));
        }
        assertEquals(identities.size(), ids.size(), "each identity has ids of its own");
        for (String identity : identities) {
            GranaryProcess.Result node = run(identity, "node", manifest);
            assertEquals(1, node.summary("bucket"), node::toString);
        }
    }

    private GranaryProcess.Result run(String identity, String machine, Path manifest)
            throws Exception {
        Map<String, String> variables = new HashMap<>(bucket);
        variables.put("GRANARY_DIR", directory.resolve(machine).toString());
        variables.put("POCL_KERNELLIB_NAME", identity);
        GranaryProcess.Result ended =
                GranaryProcess.run(variables, "get", "--json", manifest.toString());
        assertEquals(0, ended.exitCode(), ended::toString);
        return ended;
    }

    private static String id(GranaryProcess.Result ended) {
        return ended.json()
                .getAsJsonArray("results")
                .get(0)
                .getAsJsonObject()
                .get("id")
                .getAsString();
    }
}
