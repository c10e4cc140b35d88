package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cache.support.FileTrees;
import dev.granary.cli.Cli;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.source.KernelSourceResolver;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.coordinator.recording.RecordedKernel;
import dev.granary.coordinator.recording.RecordingFile;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Tests of {@code granary manifest}: merge, check and show. */
class ManifestCommandsTest {
    private static final Target POCL = new Target(Backend.OPENCL, "pocl", "cpu", "1");
    private static final Target OTHER = new Target(Backend.OPENCL, "nvidia", "sm_90", "550");

    private final Path directory;

    ManifestCommandsTest(@TempDir Path directory) {
        this.directory = directory;
    }

    private static KernelDescriptor kernel(Target target, String option) {
        return KernelDescriptor.builder(target, "saxpy")
                .source("#include \"../a.h\"\nkernel void saxpy() {}")
                .header("../a.h", "int a;")
                .options(option)
                .launch("saxpy", Geometry.of(1 << 20).local(64))
                .build();
    }

    private String recording(String name, KernelDescriptor... kernels) throws IOException {
        Path file = Files.createDirectories(directory.resolve(name)).resolve("kernels.toml");
        for (KernelDescriptor kernel : kernels) {
            new RecordingFile(file)
                    .add(
                            List.of(new RecordedKernel(kernel, List.of(RecordedId.of(kernel)))),
                            List.of());
        }
        return file.toString();
    }

    private String written(String name, String text) throws IOException {
        Path file = directory.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text).toString();
    }

    /** Returns the only file of a recording with that ending. */
    private static Path file(String recording, String ending) throws IOException {
        try (var files = Files.list(Path.of(recording + ".d"))) {
            return files.filter(file -> file.toString().endsWith(ending))
                    .findFirst()
                    .orElseThrow();
        }
    }

    @Test
    @DisplayName(
            "U1 merge: one recording has the kernels of all, with their files, ids and targets,"
                    + " after the others are gone")
    void merge() throws Exception {
        String a = recording("a", kernel(POCL, "-DN=1"), kernel(POCL, "-DN=2"));
        String b = recording("b", kernel(OTHER, "-DN=2"), kernel(OTHER, "-DN=3"));
        written("c/src/k.cl", "#include \"h.h\"\nkernel void k() {}");
        written("c/include/h.h", "int h;");
        String c = written("c/mine.toml", """
                [[kernel]]
                name = "saxpy"
                source = "src/k.cl"
                include = ["include"]
                geometry = { global = [64], local = [8] }
                """);
        KernelDescriptor mine = KernelSourceResolver.descriptor(
                KernelManifest.read(Path.of(c)).kernels().getFirst(), POCL);
        String merged = directory.resolve("merged.toml").toString();
        Cli.run("manifest", "merge", merged, a, b, c)
                .exits(0)
                .prints("5 kernels read, 5 added to " + merged);
        Cli.run("manifest", "merge", merged, c, b, a, "--json").exits(0).prints("\"added\": 0");
        for (String source : List.of("a", "b", "c")) {
            FileTrees.delete(directory.resolve(source));
        }
        JsonObject checked =
                Cli.run("manifest", "check", merged, "--json").exits(0).json();
        assertEquals(4, checked.get("kernels").getAsInt());
        assertEquals(4, checked.get("ids").getAsInt());
        JsonArray shown = Cli.run("manifest", "show", merged, "--json")
                .exits(0)
                .json()
                .getAsJsonArray("kernels");
        List<String> targets = new ArrayList<>();
        for (JsonElement each : shown) {
            JsonObject kernel = each.getAsJsonObject();
            targets.add(kernel.get("name").getAsString() + " "
                    + kernel.get("options").getAsString() + " "
                    + kernel.getAsJsonArray("targets").size());
        }
        assertEquals(
                List.of("saxpy -DN=1 1", "saxpy-2 -DN=2 2", "saxpy-2-2 -DN=3 1", "saxpy-3  0"),
                targets);
        assertEquals(
                mine.getId(),
                KernelSourceResolver.descriptor(
                                KernelManifest.read(Path.of(merged)).kernels().getLast(), POCL)
                        .getId());
    }

    @Test
    @DisplayName(
            "A merge with a kernel that cannot be read writes nothing; one into a manifest that"
                    + " people wrote is refused")
    void refusedMerges() throws Exception {
        String a = recording("a", kernel(POCL, "-DN=1"));
        Path merged = directory.resolve("merged.toml");
        String broken = written("broken.toml", "[[kernel]]\nname = 'k'\nsource = 'no.cl'\n");
        Cli.run("manifest", "merge", merged.toString(), a, broken)
                .exits(1)
                .reports("FAILED " + broken + ": k: there is no file", "was not changed");
        assertFalse(Files.exists(merged));
        Cli.run("manifest", "merge", broken, a).exits(2).reports("is not a recording");
        Cli.run("manifest", "merge", merged.toString()).exits(2);
        Cli.run("manifest", "merge", merged.toString(), directory.resolve("no").toString())
                .exits(2)
                .reports("there is no such file");
        Cli.run("manifest").exits(2).reports("merge, check or show");
    }

    @Test
    @DisplayName(
            "check names file, line and kernel of a changed, a missing and an uncacheable source")
    void check() throws Exception {
        String good = recording("good", kernel(POCL, "-DN=1"), kernel(OTHER, "-DN=1"));
        Cli.run("manifest", "check", good).exits(0).prints("1 kernel, 2 recorded ids, 0 problems");

        String changed = recording("changed", kernel(POCL, "-DN=1"), kernel(POCL, "-DN=2"));
        Files.writeString(file(changed, ".h"), "int b;");
        Cli.run("manifest", "check", changed)
                .exits(1)
                .prints(
                        changed + ":4: kernel 'saxpy': its id for ",
                        "a file or a key was changed",
                        "2 problems");

        String missing = recording("missing", kernel(POCL, "-DN=1"));
        Files.delete(file(missing, ".cl"));
        Cli.run("manifest", "check", missing).exits(1).prints("kernels.toml:4: ", "no file");

        written("dated.cl", "constant char *built = __DATE__;");
        String dated = written("dated.toml", "\n[[kernel]]\nname = 'k'\nsource = 'dated.cl'\n");
        JsonObject problem = Cli.run("manifest", "check", dated, "--json")
                .exits(1)
                .json()
                .getAsJsonArray("problems")
                .get(0)
                .getAsJsonObject();
        assertEquals(2, problem.get("line").getAsInt());
        assertTrue(problem.get("message").getAsString().contains("not cacheable"));
    }

    @Test
    @DisplayName(
            "Mistakes in a recorded table are reported with file, line and column, exit code 2")
    void mistakes() throws Exception {
        Map<String, String> mistakes = Map.of(
                "name = 'k'", "has no source",
                "source = ['a']", "there is no name",
                "name = 'k'\nsource = 'a'", "source must be a list of strings",
                "name = 'k'\nsource = ['a']\ninclude = ['b']", "unknown key 'include'",
                "name = 'k'\nsource = ['a']\nheader = [{ path = '/a', file = 'a' }]",
                        "relative to the source",
                "name = 'k'\nsource = ['a']\nheader = [{ path = 'a' }]", "there is no file; add",
                "name = 'k'\nsource = ['a']\ntarget = [{ id = '1' }]", "64 hexadecimal digits",
                "name = 'k'\nsource = ['a']\nevery-file-listed = 1", "true or false",
                "name = 'k'\nsource = ['a']\nlaunch = [{ kernel = 'k', global = [0] }]",
                        "must be positive",
                "name = 'k'\nsource = ['a']\n[[recorded]]\nname = 'k'\nsource = ['a']",
                        "used twice");
        for (Map.Entry<String, String> mistake : mistakes.entrySet()) {
            String file = written("wrong.toml", "[[recorded]]\n" + mistake.getKey() + "\n");
            Cli.run("manifest", "check", file).exits(2).reports(file + ":", mistake.getValue());
        }
        Cli.run("manifest", "check", written("wrong.toml", "recorded = []"))
                .exits(2)
                .reports("wrong.toml:1:1: recorded must be tables");
    }

    @Test
    @DisplayName("show fits 100 columns, with long names as well")
    void show() throws Exception {
        KernelDescriptor kernel = KernelDescriptor.builder(POCL, "a_kernel_with_a_very_long_name_x")
                .source("kernel void a() {}")
                .source("kernel void b() {}")
                .options("-DTILE=16 -DUNROLL=4 -cl-fast-relaxed-math -cl-mad-enable")
                .launch("a", Geometry.of(1 << 20, 1 << 10, 64).local(64, 4, 1))
                .launch("b", Geometry.of(1 << 20))
                .build();
        Cli shown = Cli.run("manifest", "show", recording("long", kernel, kernel(POCL, "-DN=1")));
        shown.exits(0).prints("a_kernel_with", " +1", "saxpy@", "targets");
        shown.out()
                .lines()
                .forEach(line -> assertTrue(line.length() <= 100, () -> line.length() + line));
        Cli.run("manifest", "show", recording("x", kernel), "--device", "no such device")
                .exits(2);
    }
}
