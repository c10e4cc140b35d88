package dev.granary.cli.manifest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.coordinator.recording.RecordingFile;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.SampleBinaries;
import dev.granary.gpu.spirv.SpirvModules;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;

/** Tests that a recorded kernel has the id that its program asked for. */
class RecordingRoundTripTest {
    private static final int KERNELS = 300;
    private static final List<Target> TARGETS = List.of(
            new Target(Backend.OPENCL, "pocl", "cpu \"x\" \\ 1", "3.1"),
            new Target(Backend.OPENCL, "nvidia", "sm_90 ü\t'", "550\u2028\n"));

    private static final byte[] MODULE = SampleBinaries.bytes("saxpy.spv");

    /** Texts that a TOML file, a path or an option may get wrong. */
    private static final List<String> PIECES = List.of(
            "a",
            "B2",
            "kernel void k() {}",
            " ",
            "  ",
            "\t",
            "\n",
            "\n\n",
            "\r\n",
            "\r",
            "\\",
            "\\\n",
            "\"",
            "\"\"\"",
            "'",
            "'''",
            "#",
            "[[kernel]]",
            "\n[[kernel]]\n",
            "]\n",
            "= ",
            "{",
            ",",
            "*",
            "?",
            "../",
            "./",
            "/",
            "//",
            "~",
            "$HOME",
            "ä",
            "漢",
            "\uD83D\uDE00",
            "e\u0301",
            "\uFEFF",
            "\u2028",
            "\u0000",
            "\u0001",
            "\u007f",
            "\u0085",
            "\uFFFF",
            "??/",
            "\\u0041",
            "-D",
            "-I",
            "-include",
            "=");

    private final SplittableRandom random = TestSeed.random("recording");
    private final Path directory;
    private final Path file;

    RecordingRoundTripTest(@TempDir Path directory) {
        this.directory = directory;
        this.file = directory.resolve("a recording's #1.toml");
    }

    private String text(int pieces) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(pieces + 1); i > 0; i--) {
            text.append(PIECES.get(random.nextInt(PIECES.size())));
        }
        return text.toString();
    }

    private String nonBlank(int pieces) {
        String text = text(pieces);
        return text.isBlank() ? "x" + text : text;
    }

    /** Returns a path relative to the source. */
    private String path() {
        String path = nonBlank(4).replace("\0", "");
        return path.isEmpty() || path.startsWith("/") ? "p" + path : path;
    }

    private Geometry geometry() {
        List<Long> global = new ArrayList<>();
        List<Long> local = new ArrayList<>();
        for (int i = 1 + random.nextInt(3); i > 0; i--) {
            global.add(random.nextLong(1, 1L << random.nextInt(1, 62)));
            local.add(random.nextLong(1, 1025));
        }
        return new Geometry(global, random.nextBoolean() ? local : List.of());
    }

    private KernelDescriptor descriptor() {
        KernelDescriptor.Builder builder =
                KernelDescriptor.builder(TARGETS.get(random.nextInt(TARGETS.size())), text(2));
        boolean isText = random.nextInt(6) > 0;
        if (isText) {
            addTexts(builder);
        } else {
            builder.spirv(random.nextBoolean() ? MODULE : SpirvModules.ofOtherKernel(MODULE));
        }
        for (int i = random.nextInt(4); i > 0; i--) {
            builder.options(
                    random.nextInt(3) == 0 || !isText
                            ? List.of("-cl-mad-enable")
                            : List.of("-D" + nonBlank(3)));
        }
        for (int i = random.nextInt(3); i > 0; i--) {
            builder.entry("k" + text(1));
        }
        for (int i = random.nextInt(3); i > 0; i--) {
            builder.launch(random.nextInt(3) == 0 ? "*" : "k" + text(1), geometry());
        }
        if (random.nextInt(4) == 0) {
            builder.environment(Map.of("POCL_" + nonBlank(1), text(2), "CUDA_FORCE_JIT", text(1)));
        }
        // there are two modules only, and equal ids would be one kernel
        String tag = isText ? text(2) : "module " + random.nextLong();
        // with a digest every descriptor is cacheable
        return builder.tag(tag).extraDigest(nonBlank(2)).build();
    }

    private void addTexts(KernelDescriptor.Builder builder) {
        for (int i = 1 + random.nextInt(3); i > 0; i--) {
            builder.source(i == 1 ? nonBlank(6) : text(6));
        }
        for (int i = random.nextInt(3); i > 0; i--) {
            builder.header(path(), text(4));
        }
        for (int i = random.nextInt(3); i > 0; i--) {
            builder.includeDirectory(path());
        }
        if (random.nextInt(4) == 0) {
            builder.everyFileListed();
        }
    }

    private static Set<String> ids(Path manifest) throws Exception {
        Set<String> ids = new LinkedHashSet<>();
        for (KernelSpec kernel : KernelManifest.read(manifest)) {
            for (RecordedId id : kernel.recorded().orElseThrow().ids()) {
                String computed =
                        KernelSourceResolver.descriptor(kernel, id).getId().toString();
                assertEquals(id.hash(), computed, () -> kernel + " of " + id);
                assertTrue(ids.add(computed), computed);
            }
        }
        return ids;
    }

    @Test
    @DisplayName("each of many random kernels has in its recording the id that it had in code,"
            + " in any order of recording, and also after the recording was moved")
    void sameIds() throws Exception {
        Map<String, KernelDescriptor> expected = new LinkedHashMap<>();
        List<KernelDescriptor> batch = new ArrayList<>();
        for (int i = 0; i < KERNELS; i++) {
            KernelDescriptor descriptor = descriptor();
            if (descriptor.getId().isEmpty()) {
                continue; // an unpaired surrogate
            }
            expected.put(descriptor.getId().toString(), descriptor);
            batch.add(descriptor);
            if (random.nextInt(40) == 0) {
                new RecordingFile(file).add(batch, List.of());
                batch.clear();
            }
        }
        new RecordingFile(file).add(batch, List.of("a comment\n[[kernel]]"));
        assertTrue(expected.size() > KERNELS / 2, () -> "only " + expected.size());
        assertEquals(expected.keySet(), ids(file));

        String text = Files.readString(file);
        assertEquals(
                0,
                new RecordingFile(file)
                        .add(List.copyOf(expected.values()), List.of("a comment\n[[kernel]]")));
        assertEquals(text, Files.readString(file), "nothing is recorded twice");

        Path moved = Files.createDirectories(directory.resolve("elsewhere"));
        Files.move(file, moved.resolve(file.getFileName()));
        Files.move(
                file.resolveSibling(file.getFileName() + ".d"),
                moved.resolve(file.getFileName() + ".d"));
        assertEquals(expected.keySet(), ids(moved.resolve(file.getFileName())));
    }

    @Test
    @DisplayName("A recorded kernel is the descriptor itself: also its entry points and launches,"
            + " for a driver that ignores them as well")
    void sameDescriptor() throws Exception {
        for (Target target : TARGETS) {
            KernelDescriptor descriptor = KernelDescriptor.builder(target, "gemm")
                    .source("#include \"a.h\"\n#include \"b.h\"\nkernel void a() {}\\")
                    .source("kernel void b() {}")
                    .header("a.h", "int a;")
                    .header("../b.h", "int b;")
                    .includeDirectory("..")
                    .options("-D X='a b' -cl-mad-enable")
                    .entry("a", "b")
                    .launch("a", Geometry.of(64, 2).local(8, 1))
                    .launch(Geometry.of(7))
                    .extraDigest("digest")
                    .tag("tag")
                    .build();
            Path manifest = directory.resolve(target.vendor() + ".toml");
            new RecordingFile(manifest).add(List.of(descriptor), List.of());
            KernelSpec kernel = KernelManifest.read(manifest).getFirst();
            KernelDescriptor read = KernelSourceResolver.descriptor(kernel, target);
            assertEquals(descriptor, read);
            assertEquals(descriptor.announcedLaunches(), read.announcedLaunches());
            assertEquals("gemm", read.name());
        }
    }

    @Test
    @DisplayName("Equal kernels of two targets are one table with two ids, and other kernels of one"
            + " name get names of their own")
    void merged() throws Exception {
        RecordingFile recording = new RecordingFile(file);
        for (Target target : TARGETS) {
            for (String option : List.of("-DA=1", "-DA=2")) {
                KernelDescriptor descriptor = KernelDescriptor.builder(target, "k")
                        .source("kernel void k() {}")
                        .options(option)
                        .build();
                assertEquals(1, recording.add(List.of(descriptor), List.of()));
            }
        }
        List<KernelSpec> kernels = KernelManifest.read(file);
        assertEquals(List.of("k", "k-2"), kernels.stream().map(KernelSpec::name).toList());
        kernels.forEach(kernel ->
                assertEquals(2, kernel.recorded().orElseThrow().ids().size(), kernel::toString));
        assertEquals(4, ids(file).size());
        try (var sources = Files.list(Path.of(file + ".d"))) {
            assertEquals(
                    1,
                    sources.filter(source -> source.toString().endsWith(".cl")).count());
        }
    }

    @Test
    @DisplayName("Text that people add to a recording stays; a kernel that they change is another"
            + " one, and so is a source that they edit")
    void edited() throws Exception {
        KernelDescriptor descriptor = KernelDescriptor.builder(TARGETS.getFirst(), "k")
                .source("kernel void k() {}")
                .build();
        RecordingFile recording = new RecordingFile(file);
        recording.add(List.of(descriptor), List.of());
        String text = Files.readString(file);
        Map<String, String> edits = new TreeMap<>(Map.of(
                "an option at the end", text + "options = \"-DA\"\n",
                "an option after an empty line", text + "\noptions = \"-DA\"\n",
                "an option above", text.replace("source =", "options = \"-DA\"\nsource ="),
                "a comment", text + "\n# mine\n",
                "option and kernel of the same name",
                        text.replace("source =", "options = \"-DA\"\nsource =")
                                + "\n[[kernel]]\nname = 'k-2'\nsource = 'k.cl'\n",
                "line ends", text.replace("\n", "\r\n")));
        for (Map.Entry<String, String> edit : edits.entrySet()) {
            Files.writeString(file, edit.getValue());
            recording.add(List.of(descriptor), List.of());
            String after = Files.readString(file);
            int expected =
                    switch (edit.getKey()) {
                        case "a comment", "line ends" -> 1;
                        case "option and kernel of the same name" -> 3;
                        default -> 2;
                    };
            assertEquals(expected, KernelManifest.read(file).size(), edit::toString);
            assertTrue(
                    after.contains(edit.getValue().replace("\r\n", "\n").strip()), edit::toString);
        }
        Files.writeString(file, text);
        Path source = KernelManifest.read(file).getFirst().sources().getFirst();
        Files.writeString(source, "kernel void edited() {}");
        recording.add(List.of(descriptor), List.of());
        assertEquals("kernel void edited() {}", Files.readString(source));
        KernelSpec again = KernelManifest.read(file).getLast();
        assertEquals(
                descriptor.getId(),
                KernelSourceResolver.descriptor(again, TARGETS.getFirst()).getId());
    }

    @Test
    @DisplayName(
            "A kernel that was recorded with other compiler variables is refused with both, not"
                    + " compiled to another id")
    void otherEnvironment() throws Exception {
        KernelDescriptor descriptor = KernelDescriptor.builder(TARGETS.getFirst(), "k")
                .source("kernel void k() {}")
                .environment(Map.of("POCL_WORK_GROUP_METHOD", "loops"))
                .build();
        new RecordingFile(file).add(List.of(descriptor), List.of());
        KernelSpec kernel = KernelManifest.read(file).getFirst();
        IOException refused = assertThrows(
                IOException.class,
                () -> KernelSourceResolver.descriptor(kernel, TARGETS.getFirst()));
        assertTrue(
                String.valueOf(refused.getMessage()).contains("POCL_WORK_GROUP_METHOD=loops"),
                refused::toString);
        assertFalse(KernelSourceResolver.descriptor(kernel, TARGETS.getLast())
                .getId()
                .isEmpty());
    }
}
