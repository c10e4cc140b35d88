package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cli.Cli;
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

/** Tests of {@code granary manifest}. */
class ManifestCommandTest {
    private static final Target POCL = new Target(Backend.OPENCL, "pocl", "cpu", "1");
    private static final Target OTHER = new Target(Backend.OPENCL, "nvidia", "sm_90", "550");

    private final Path directory;

    ManifestCommandTest(@TempDir Path directory) {
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
            new RecordingFile(file).add(List.of(kernel), List.of());
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
    @DisplayName("including recordings merges them: equal kernels count once, with the ids of"
            + " all, and others of one name get a number")
    void merge() throws Exception {
        recording("a", kernel(POCL, "-DN=1"), kernel(POCL, "-DN=2"));
        recording("b", kernel(OTHER, "-DN=2"), kernel(OTHER, "-DN=3"));
        written("c/src/k.cl", "#include \"h.h\"\nkernel void k() {}");
        written("c/include/h.h", "int h;");
        written("c/mine.toml", """
                [[kernel]]
                name = "mine"
                source = "src/k.cl"
                include = ["include"]
                geometry = { global = [64], local = [8] }
                """);
        String merged = written(
                "merged.toml",
                "include-manifests = ['a/kernels.toml', 'b/kernels.toml', 'c/mine.toml']");
        Cli shown = Cli.run("manifest", merged, "--json").exits(0);
        List<String> targets = new ArrayList<>();
        for (JsonElement each : shown.json().getAsJsonArray("kernels")) {
            JsonObject kernel = each.getAsJsonObject();
            targets.add(kernel.get("kernel").getAsString() + " "
                    + kernel.get("options").getAsString() + " "
                    + kernel.getAsJsonArray("targets").size());
        }
        assertEquals(
                List.of("saxpy -DN=1 1", "saxpy-2 -DN=2 2", "saxpy-2-2 -DN=3 1", "mine  0"),
                targets);
    }

    @Test
    @DisplayName("Recorded kernels whose files somebody has edited are not merged with the others")
    void edited() throws Exception {
        recording("a", kernel(POCL, "-DN=1"));
        String b = recording("b", kernel(OTHER, "-DN=1"));
        String merged =
                written("merged.toml", "include-manifests = ['a/kernels.toml', 'b/kernels.toml']");
        Cli.run("manifest", merged).exits(0).prints("1 kernel, 2 recorded ids, 0 problems");
        Files.writeString(file(b, ".h"), "int b;");
        Cli.run("manifest", merged)
                .exits(1)
                .prints("2 kernels, 2 recorded ids, 1 problem")
                .reports("b/kernels.toml:4: kernel 'saxpy-2': its id for ");
    }

    @Test
    @DisplayName("It names file, line and kernel of a changed, a missing and an uncacheable source")
    void check() throws Exception {
        String good = recording("good", kernel(POCL, "-DN=1"), kernel(OTHER, "-DN=1"));
        Cli.run("manifest", good).exits(0).prints("1 kernel, 2 recorded ids, 0 problems");

        String changed = recording("changed", kernel(POCL, "-DN=1"), kernel(POCL, "-DN=2"));
        Files.writeString(file(changed, ".h"), "int b;");
        Cli.run("manifest", changed)
                .exits(1)
                .prints("2 problems")
                .reports(
                        changed + ":4: kernel 'saxpy': its id for ", "a file or a key was changed");

        String missing = recording("missing", kernel(POCL, "-DN=1"));
        Files.delete(file(missing, ".cl"));
        Cli.run("manifest", missing).exits(1).reports("kernels.toml:4: ", "no file");

        written("dated.cl", "constant char *built = __DATE__;");
        String dated = written("dated.toml", "\n[[kernel]]\nname = 'k'\nsource = 'dated.cl'\n");
        String problem = Cli.run("manifest", dated, "--json")
                .exits(1)
                .json()
                .getAsJsonArray("problems")
                .get(0)
                .getAsString();
        assertTrue(
                problem.startsWith(dated + ":2: ") && problem.contains("not cacheable"), problem);
    }

    @Test
    @DisplayName(
            "Mistakes in a recorded table are reported with file, line and column, exit code 2")
    void mistakes() throws Exception {
        Map<String, String> mistakes = Map.of(
                "name = 'k'", "has no source",
                "source = ['a']", "name is missing",
                "name = 'k'\nsource = 'a'", "source must be a list of strings",
                "name = 'k'\nsource = ['a']\ninclude = ['b']", "unknown key 'include'",
                "name = 'k'\nsource = ['a']\nheader = [{ path = '/a', file = 'a' }]",
                        "relative to the source",
                "name = 'k'\nsource = ['a']\nheader = [{ path = 'a' }]", "file is missing; add",
                "name = 'k'\nsource = ['a']\nevery-file-listed = 1", "true or false",
                "name = 'k'\nsource = ['a']\nlaunch = [{ kernel = 'k', global = [0] }]",
                        "must be positive",
                "name = 'k'\nsource = ['a']\n[[kernel]]\nname = 'k'\nsource = 'a'", "used twice");
        for (Map.Entry<String, String> mistake : mistakes.entrySet()) {
            String file = written("wrong.toml", "[[kernel]]\ntarget = []\n" + mistake.getKey());
            Cli.run("manifest", file).exits(2).reports(file + ":", mistake.getValue());
        }
        Cli.run(
                        "manifest",
                        written(
                                "wrong.toml",
                                "[[kernel]]\ntarget = [{ id = '1' }]\n"
                                        + "name = 'k'\nsource = ['a']"))
                .exits(2)
                .reports("wrong.toml:2:", "64 hexadecimal digits");
        Cli.run("manifest", directory.resolve("no").toString())
                .exits(2)
                .reports("there is no such file");
        Cli.run("manifest").exits(2);
    }

    @Test
    @DisplayName("Its table fits 100 columns, with long names as well")
    void show() throws Exception {
        KernelDescriptor kernel = KernelDescriptor.builder(POCL, "a_kernel_with_a_very_long_name_x")
                .source("kernel void a() {}")
                .source("kernel void b() {}")
                .options("-DTILE=16 -DUNROLL=4 -cl-fast-relaxed-math -cl-mad-enable")
                .launch("a", Geometry.of(1 << 20, 1 << 10, 64).local(64, 4, 1))
                .launch("b", Geometry.of(1 << 20))
                .build();
        Cli shown = Cli.run("manifest", recording("long", kernel, kernel(POCL, "-DN=1")));
        shown.exits(0).prints("a_kernel_with", "saxpy@", "targets");
        shown.out()
                .lines()
                .forEach(line -> assertTrue(line.length() <= 100, () -> line.length() + line));
        Cli.run("manifest", recording("x", kernel), "--device", "no such device")
                .exits(2);
    }
}
