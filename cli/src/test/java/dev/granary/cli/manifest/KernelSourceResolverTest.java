package dev.granary.cli.manifest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.SampleBinaries;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Tests of the files that belong to a kernel of a manifest, and of their effect on its id. */
class KernelSourceResolverTest {
    private static final Target TARGET = new Target(Backend.OPENCL, "pocl", "cpu", "1");
    private static final String BODY = "__kernel void k(__global int *a) { a[0] = 1; }\n";

    private final Path tree;
    private final Path directory;

    KernelSourceResolverTest(@TempDir Path directory) {
        this.directory = directory;
        this.tree = directory.resolve("tree");
    }

    private Path write(String name, String text) throws IOException {
        Path file = tree.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text);
    }

    private void manifest(String settings) throws IOException {
        write("m/kernels.toml", "[[kernel]]\nname = 'k'\nsource = 'src/k.cl'\n" + settings);
    }

    private KernelDescriptor descriptor() throws Exception {
        return descriptor(tree);
    }

    private static KernelDescriptor descriptor(Path tree) throws Exception {
        return KernelSourceResolver.descriptor(
                KernelManifest.read(tree.resolve("m/kernels.toml")).getFirst(), TARGET);
    }

    private static String contents(KernelDescriptor descriptor) {
        return String.join(
                " ",
                descriptor.headers().values().stream()
                        .map(String::strip)
                        .sorted()
                        .toList());
    }

    @Test
    @DisplayName("headers are followed through a chain, and editing any of them changes the id")
    void chain() throws Exception {
        manifest("");
        write("m/src/k.cl", "#include \"a.h\"\n" + BODY);
        write("m/src/a.h", "#include \"sub/b.h\"\n");
        write("m/src/sub/b.h", "#include \"c.h\"\n");
        write("m/src/sub/c.h", "// c\n");
        assertEquals(Set.of("a.h", "sub/b.h", "sub/c.h"), descriptor().headers().keySet());
        Id before = descriptor().getId();
        for (String name : new String[] {"a.h", "sub/b.h", "sub/c.h", "k.cl"}) {
            Path file = tree.resolve("m/src").resolve(name);
            String text = Files.readString(file);
            Files.writeString(file, text + "// edited\n");
            assertNotEquals(before, descriptor().getId(), name);
            Files.writeString(file, text);
            assertEquals(before, descriptor().getId());
        }
    }

    @Test
    @DisplayName("the first line of each source of a program is counted as a compiler does,"
            + " which joins the texts; of two that begin on one line the later one has it")
    void firstLines() throws Exception {
        write("m/kernels.toml", "[[kernel]]\nname = 'k'\nsource = ['a', 'b', 'c', 'd', 'e']\n");
        write("m/a", "/* one */\r\n/* two */\n");
        write("m/b", "/* no line ending */");
        write("m/c", "/* none here */");
        write("m/d", "\n/* four */");
        write("m/e", BODY);
        KernelSources sources = KernelSourceResolver.resolve(
                        KernelManifest.read(tree.resolve("m/kernels.toml")).getFirst(), TARGET)
                .sources();
        assertEquals(
                Map.of(1, tree.resolve("m/a"), 3, tree.resolve("m/d"), 4, tree.resolve("m/e")),
                sources.sources());
    }

    @Test
    @DisplayName("moving the whole tree, or its line endings, does not change the id")
    void moved() throws Exception {
        manifest("include = ['../common']\noptions = '-I src/inner'");
        write("m/src/k.cl", "#include \"a.h\"\n#include <inner.h>\n#include \"../up.h\"\n" + BODY);
        write("m/src/inner/inner.h", "// inner\n");
        write("m/up.h", "// up\n");
        write("common/a.h", "#include \"../beside/b.h\"\n");
        write("beside/b.h", "// b\n");
        KernelDescriptor before = descriptor();
        assertFalse(before.getId().isEmpty(), before.getId().reason());
        assertEquals("#include \"../beside/b.h\" // b // inner // up", contents(before));
        write("m/src/k.cl", Files.readString(tree.resolve("m/src/k.cl")).replace("\n", "\r\n"));
        write("beside/b.h", "// b\r\n");
        Path elsewhere =
                Files.createDirectories(directory.resolve("quite/elsewhere")).resolve("t");
        Files.move(tree, elsewhere);
        KernelDescriptor after = descriptor(elsewhere);
        assertEquals(before.getId(), after.getId());
        assertEquals(before, after);
    }

    @Test
    @DisplayName("the order of include directories, from include and from -I, is in the id; all"
            + " files of a name become headers")
    void sameNameTwice() throws Exception {
        write("m/src/k.cl", "#include <x.h>\n" + BODY);
        write("m/one/x.h", "// one\n");
        write("m/two/x.h", "// two\n");
        manifest("include = ['one']\noptions = '-Itwo'");
        KernelDescriptor first = descriptor();
        manifest("include = ['two']\noptions = '-I one'");
        KernelDescriptor second = descriptor();
        assertNotEquals(first.getId(), second.getId());
        assertEquals("// one // two", contents(first));
        manifest("include = ['one', 'two']");
        assertEquals(
                first.getId(),
                descriptor().getId(),
                "where the directory was named does not matter");
    }

    @Test
    @DisplayName("a header beside the including one does not hide the one that angle brackets refer"
            + " to")
    void anglesAndQuotes() throws Exception {
        manifest("include = ['inc']");
        write("m/src/k.cl", "#include \"sub/outer.h\"\n" + BODY);
        write("m/src/sub/outer.h", "#include <x.h>\n");
        write("m/src/sub/x.h", "// beside\n");
        write("m/inc/x.h", "// meant\n");
        Id before = descriptor().getId();
        assertTrue(contents(descriptor()).contains("// meant"));
        write("m/inc/x.h", "// edited\n");
        assertNotEquals(before, descriptor().getId());
    }

    @Test
    @DisplayName(
            "A header that does not exist, in a branch that is never taken, is no error; once it"
                    + " exists, the id changes")
    void branchNeverTaken() throws Exception {
        manifest("");
        write("m/src/k.cl", "#ifdef NEVER\n#include \"missing-here.h\"\n#endif\n" + BODY);
        Id without = descriptor().getId();
        assertFalse(without.isEmpty());
        assertEquals(Map.of(), descriptor().headers());
        write("m/src/missing-here.h", "// now\n");
        assertNotEquals(without, descriptor().getId());
    }

    @Test
    @DisplayName("if a macro expands to the name, all files of the directories are headers, and the"
            + " kernel stays cacheable")
    void computedInclude() throws Exception {
        manifest("include = ['inc']");
        write("m/src/k.cl", "#define H \"x.h\"\n#include H\n" + BODY);
        write("m/inc/x.h", "// x\n");
        write("m/inc/deep/y.h", "// y\n");
        KernelDescriptor descriptor = descriptor();
        assertFalse(descriptor.getId().isEmpty(), descriptor.getId().reason());
        assertTrue(contents(descriptor).contains("// x // y"), contents(descriptor));
        write("m/inc/deep/y.h", "// edited\n");
        assertNotEquals(descriptor.getId(), descriptor().getId());
    }

    @Test
    @DisplayName("inputs that the key cannot see make the kernel not cacheable, a computed include"
            + " beside them or not")
    void unseenInputs() throws Exception {
        Path outside = Files.writeString(directory.resolve("outside.h"), "// outside\n");
        for (String computed : new String[] {"", "#define H \"x.h\"\n#include H\n"}) {
            write("m/src/x.h", "// x\n");
            write("m/src/k.cl", computed + BODY);
            manifest("options = '-include x.h'");
            assertTrue(descriptor().getId().isEmpty(), "-include");
            manifest("");
            write("m/src/k.cl", computed + "#include \"" + outside + "\"\n" + BODY);
            assertTrue(descriptor().getId().isEmpty(), "an absolute path");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"-DS='\"ab\"'", "-DS='\"a b\"'", "-DS=\"a'b\"", "-DX='a b' -D Y=1"})
    @DisplayName("a manifest's options reach the driver as the same options in code do, quotes"
            + " included, with the same id")
    void optionsAsInCode(String options) throws Exception {
        manifest("options = \"\"\"" + options + "\"\"\"");
        write("m/src/k.cl", BODY);
        KernelDescriptor inCode = KernelDescriptor.builder(TARGET, "k")
                .source(BODY)
                .options(options)
                .build();
        assertEquals(inCode.options(), descriptor().options());
        assertEquals(inCode.getId(), descriptor().getId());
    }

    @Test
    @DisplayName("blank names, in ASCII and beyond, are valid names")
    void blankNames() throws Exception {
        assumeTrue(canBeNamed("\u3000"), "the file names of this locale are limited to ASCII");
        manifest("include = ['inc']");
        write("m/inc/x.h", "// x\n");
        write("m/src/ ", "// blank\n");
        write("m/src/\u3000", "// wide blank\n");
        write("m/src/k.cl", "#include \" \"\n#include <\u3000>\n" + BODY);
        assertEquals("// blank // wide blank", contents(descriptor()));
        assertFalse(descriptor().getId().isEmpty(), descriptor().getId().reason());
    }

    private boolean canBeNamed(String name) {
        try {
            return tree.resolve(name).getNameCount() > 0;
        } catch (InvalidPathException e) {
            return false;
        }
    }

    @Test
    @DisplayName("blank names, names like trigraphs and empty sources: a descriptor, or an"
            + " IOException that names the file")
    void oddNames() throws Exception {
        manifest("include = ['inc']");
        write("m/inc/x.h", "// x\n");
        write("m/src/ ", "// blank\n");
        write("m/src/k.cl", "#include \" \"\n#include <\u3000>\n" + BODY);
        assertEquals("// blank", contents(descriptor()));
        for (String name : new String[] {
            ".",
            "..",
            "./",
            "../src",
            "inc/",
            "??=",
            "~",
            "a\\b",
            "a\0b",
            "x".repeat(300),
            "a/".repeat(3000) + "b"
        }) {
            write("m/src/k.cl", "#include \"" + name + "\"\n#include H\n" + BODY);
            descriptor();
        }
        for (String empty : new String[] {"", " \n", "\u3000"}) {
            write("m/src/k.cl", empty);
            assertMessage("k.cl is empty");
        }
    }

    private static void assertRefused(Path source, String cause) {
        KernelSpec kernel = TestKernels.of("k", source);
        IOException thrown = assertThrows(
                IOException.class, () -> KernelSourceResolver.descriptor(kernel, TARGET));
        assertTrue(
                String.valueOf(thrown.getMessage()).contains(source + " ")
                        && String.valueOf(thrown.getMessage()).contains(cause),
                thrown::toString);
    }

    @Test
    @DisplayName("a source of 4 GiB is an IOException with the limit; no memory is allocated from"
            + " its length")
    void longSource() throws Exception {
        Path file = write("m/src/long.cl", "");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[1]), 4L << 30); // after a hole
        }
        KernelSpec kernel = TestKernels.of("k", file);
        IOException thrown = assertThrows(
                IOException.class, () -> KernelSourceResolver.descriptor(kernel, TARGET));
        assertTrue(
                String.valueOf(thrown.getMessage()).contains("more than 64 MiB"), thrown::toString);
    }

    @Test
    @DisplayName("a pipe without a writer and a device are rejected as sources at once, by name; as"
            + " headers they are not found")
    void pipesAndDevices() throws Exception {
        Path pipe = Files.createDirectories(tree.resolve("m/src")).resolve("pipe.cl");
        assumeTrue(SystemTool.run("mkfifo", pipe.toString()), "pipes cannot be created here");
        assertRefused(pipe, "is a pipe, a device or a socket");
        assertRefused(
                Files.createSymbolicLink(tree.resolve("m/src/link.cl"), pipe),
                "is a pipe, a device or a socket");
        Path zero = Path.of("/dev/zero");
        assumeTrue(Files.exists(zero), "there is no /dev/zero");
        assertRefused(zero, "is a pipe, a device or a socket");
        manifest("");
        write("m/src/k.cl", "#include \"pipe.cl\"\n#include H\n" + BODY);
        assertEquals(Set.of("k.cl"), descriptor().headers().keySet());
    }

    @Test
    @DisplayName("a line that compilers interpret differently makes the kernel not cacheable, with"
            + " the reason; CRLF after a backslash does not")
    void unclearLines() throws Exception {
        manifest("");
        write("m/src/a.h", "// a\n");
        write("m/src/k.cl", "#incl\\\r\nude \"a.h\"\r\n" + BODY);
        assertEquals(Set.of("a.h"), descriptor().headers().keySet());
        assertFalse(descriptor().getId().isEmpty(), descriptor().getId().reason());
        write("m/src/k.cl", "??=include \"a.h\"\n" + BODY);
        assertTrue(
                descriptor().getId().reason().contains("trigraph"),
                descriptor().getId().reason());
    }

    @Test
    @DisplayName("a computed include does not excuse the clock, an absolute name, or a path out of"
            + " the tree")
    void computedExcusesNamesOnly() throws Exception {
        manifest("");
        write("m/src/x.h", "// x\n");
        for (String more : new String[] {
            "int t = sizeof(__TIME__);\n",
            "#define H \"/etc/x.h\"\n",
            "#include \"../../../../../../../../../x.h\"\n"
        }) {
            write("m/src/k.cl", more + "#include H\n" + BODY);
            assertTrue(descriptor().getId().isEmpty(), more);
        }
    }

    @Test
    @DisplayName("a header that a macro names brings the files that it includes, also from other"
            + " directories and by a further macro")
    void computedIncludeOfIncludes() throws Exception {
        manifest("");
        write("m/src/k.cl", "#define H \"x.h\"\n#include H\n" + BODY);
        write("m/src/x.h", "#include \"../common/y.h\"\n");
        write("m/common/y.h", "#include \"z.h\"\n");
        write("m/common/z.h", "#define I \"x.h\"\n#include I\n");
        KernelDescriptor descriptor = descriptor();
        assertEquals(
                Set.of("k.cl", "x.h", "../common/y.h", "../common/z.h"),
                descriptor.headers().keySet());
        assertFalse(descriptor.getId().isEmpty(), descriptor.getId().reason());
        write("m/common/z.h", "// edited\n");
        assertNotEquals(descriptor.getId(), descriptor().getId());
    }

    @Test
    @DisplayName("a loop of symbolic links in a directory of headers is skipped")
    void loopOfLinks() throws Exception {
        manifest("include = ['inc']");
        write("m/src/k.cl", "#define H \"x.h\"\n#include H\n" + BODY);
        write("m/inc/x.h", "// x\n");
        Files.createSymbolicLink(tree.resolve("m/inc/loop"), tree.resolve("m/inc"));
        Files.createSymbolicLink(tree.resolve("m/inc/dangling"), tree.resolve("m/nowhere"));
        KernelDescriptor descriptor = descriptor();
        assertEquals(2, descriptor.headers().size(), descriptor.headers()::toString);
        assertFalse(descriptor.getId().isEmpty(), descriptor.getId().reason());
    }

    @Test
    @DisplayName("A missing header is not reported as a source")
    void missingHeader() {
        Path file = tree.resolve("missing.h");
        String message = String.valueOf(
                assertThrows(IOException.class, () -> new KernelSourceResolver.SourceFileReader()
                                .text(file))
                        .getMessage());
        assertTrue(message.startsWith("there is no file " + file + ": "), message);
        assertFalse(message.contains("correct source"), message);
    }

    @Test
    @DisplayName("An I/O error while a file is read names the file")
    void unreadableContent() {
        Path file = Path.of("/proc/self/mem"); // address 0 is not mapped
        assumeTrue(Files.isReadable(file), "no /proc/self/mem: Linux only");
        String message = String.valueOf(
                assertThrows(IOException.class, () -> new KernelSourceResolver.SourceFileReader()
                                .content(file))
                        .getMessage());
        assertTrue(message.startsWith(file + " cannot be read: "), message);
    }

    @Test
    @DisplayName("A header that includes itself or its includer is read once")
    void cycles() throws Exception {
        manifest("");
        write("m/src/k.cl", "#include \"a.h\"\n" + BODY);
        write("m/src/a.h", "#include \"b.h\"\n#include \"./a.h\"\n");
        write("m/src/b.h", "#include \"a.h\"\n");
        assertEquals(Set.of("a.h", "b.h"), descriptor().headers().keySet());
    }

    @Test
    @DisplayName("A missing source, a missing include directory, a directory as source: each is"
            + " reported with its name and remedy")
    void missingFiles() throws Exception {
        manifest("");
        assertMessage("there is no file " + tree.resolve("m/src/k.cl") + ": correct source");
        Files.createDirectories(tree.resolve("m/src/k.cl"));
        assertMessage("k.cl is a directory");
        manifest("include = ['missing']");
        assertMessage("there is no include directory " + tree.resolve("m/missing"));
    }

    private void writeModule(String name, byte[] module) throws IOException {
        Files.write(write(name, ""), module);
    }

    @Test
    @DisplayName("a source that begins as SPIR-V is a module, whichever its name is, with the id"
            + " of the same module in code")
    void module() throws Exception {
        byte[] module = SampleBinaries.bytes("saxpy.spv");
        manifest("entry = ['saxpy']\noptions = '-cl-mad-enable'\n");
        writeModule("m/src/k.cl", module);
        assertEquals(
                KernelDescriptor.builder(TARGET, "other")
                        .spirv(module)
                        .options("-cl-mad-enable")
                        .entry("saxpy")
                        .build(),
                descriptor());
        assertFalse(descriptor().getId().isEmpty(), descriptor().getId().reason());
        write("m/src/k.cl", BODY);
        assertTrue(descriptor().spirv().isEmpty());
    }

    @Test
    @DisplayName("a damaged module is no source text, and each input that has no effect on a"
            + " module is refused with its name")
    void unsoundModule() throws Exception {
        byte[] module = SampleBinaries.bytes("saxpy.spv");
        manifest("");
        writeModule("m/src/k.cl", Arrays.copyOf(module, module.length - 4));
        assertMessage("m/src/k.cl: The SPIR-V of the kernel k is damaged: ");
        writeModule("m/src/k.cl", Arrays.copyOf(module, 4));
        assertMessage("m/src/k.cl: The SPIR-V of the kernel k is damaged: ");
        writeModule("m/src/k.cl", new byte[] {7, 0x23, 2, 3});
        assertMessage("m/src/k.cl: The SPIR-V of the kernel k is big-endian: ");
        writeModule("m/src/k.cl", module);
        manifest("define = { A = 1 }\n");
        assertMessage("no preprocessor runs: remove the option -DA=1");
        Files.createDirectories(tree.resolve("m/include"));
        manifest("include = ['include']\n");
        assertMessage("headers or include directories beside it");
        write("m/kernels.toml", "[[kernel]]\nname = 'k'\nsource = ['src/k.cl', 'src/k.cl']\n");
        assertMessage("m/src/k.cl is a second module of SPIR-V");
        write("m/src/blank.cl", "");
        for (String sources : List.of("'src/k.cl', 'src/blank.cl'", "'src/blank.cl', 'src/k.cl'")) {
            write("m/kernels.toml", "[[kernel]]\nname = 'k'\nsource = [" + sources + "]\n");
            assertMessage("SPIR-V and OpenCL C are no one program");
        }
    }

    private void assertMessage(String expected) {
        String message =
                String.valueOf(assertThrows(IOException.class, this::descriptor).getMessage());
        assertTrue(message.contains(expected), message);
    }
}
