package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.support.FileTrees;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.Map;

/** Tests of copies of kernels between machines, with real processes. */
@ExtendWith(WithDevice.class)
class CopyProcessTest {
    @TempDir
    private Path directory = Path.of("");

    private GranaryProcess.Result granary(String machine, String... arguments) throws Exception {
        GranaryProcess.Result ended = GranaryProcess.run(
                Map.of("GRANARY_DIR", directory.resolve(machine).toString()), arguments);
        assertEquals(0, ended.exitCode(), ended::toString);
        return ended;
    }

    @Test
    @Tag("exhaustive")
    @DisplayName(
            "copy, clear, copy back: in a new process all lookups hit, and nothing is compiled")
    void copyClearCopy() throws Exception {
        String local = directory.resolve("one").toString();
        String tree = directory.resolve("tree").toString();
        assertEquals(
                TestManifests.COUNT,
                granary("one", "get", "--json", TestManifests.manifest()).summary("compiled"));
        assertEquals(
                TestManifests.COUNT,
                granary("one", "copy", local, tree, "--json")
                        .json()
                        .get("copied")
                        .getAsInt());
        FileTrees.delete(Path.of(local));
        assertEquals(
                TestManifests.COUNT,
                granary("one", "copy", tree, local, "--json")
                        .json()
                        .get("copied")
                        .getAsInt());
        GranaryProcess.Result run = granary("one", "get", "--json", TestManifests.manifest());
        assertEquals(TestManifests.COUNT, run.summary("local"), run::toString);
        assertEquals(0, run.summary("compiled"), run::toString);
    }
}
