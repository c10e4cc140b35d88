package dev.granary.gpu.spirv;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.cache.Backend;
import dev.granary.cache.CompileException;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.tool.ClangTool;
import dev.granary.gpu.tool.OclocTool;
import dev.granary.gpu.tool.SpirvTool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Tests of the compiler to SPIR-V, with each tool that is installed. */
class PathCompilerTest {
    private static final int SPIRV_MAGIC = 0x07230203;
    private static final Target TARGET =
            new Target(Backend.LEVEL_ZERO, "intel", "Intel(R) Graphics id 0x9a49", "1.3.0");

    @TempDir
    Path programs;

    @TempDir
    Path temporary;

    /** The tools, each by the path that leads to it alone. */
    enum Tool {
        OCLOC("apt-get install intel-opencl-icd") {
            @Override
            Optional<SpirvTool> find() {
                return SpirvTool.program(SpirvTool.PATH, "ocloc").map(OclocTool::new);
            }
        },
        CLANG("apt-get install clang-14 llvm-spirv-14") {
            @Override
            Optional<SpirvTool> find() {
                return ClangTool.find(SpirvTool.PATH);
            }
        };

        private final String install;

        Tool(String install) {
            this.install = install;
        }

        abstract Optional<SpirvTool> find();
    }

    /** Returns a compiler whose search path has this tool only. */
    private PathCompiler compiler(Tool tool) throws IOException {
        Optional<SpirvTool> found = tool.find();
        if (found.isEmpty()) {
            System.out.println("SKIPPED " + tool + ": " + tool.install);
        }
        assumeTrue(found.isPresent(), tool + " is not installed: " + tool.install);
        switch (found.orElseThrow()) {
            case OclocTool ocloc -> delegate("ocloc", ocloc.program());
            case ClangTool clang -> {
                delegate("clang-22", clang.clang());
                delegate("llvm-spirv-22", clang.translator());
                delegate("clang-30", clang.clang()); // without its translator: no pair
            }
        }
        return new PathCompiler("relative/absent:" + programs, temporary);
    }

    private void delegate(String name, Path program) throws IOException {
        Path script = programs.resolve(name);
        Files.writeString(script, "#!/bin/sh\nexec " + program + " \"$@\"\n");
        assertTrue(script.toFile().setExecutable(true));
    }

    private static KernelDescriptor.Builder builder(String source) {
        return KernelDescriptor.builder(TARGET, "sample").source(source);
    }

    private void assertNoFiles() throws IOException {
        try (Stream<Path> files = Files.list(temporary)) {
            assertEquals(List.of(), files.toList());
        }
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("Sources, headers and options with white space become SPIR-V, the same each time")
    void compiles(Tool tool) throws Exception {
        PathCompiler compiler = compiler(tool);
        KernelDescriptor descriptor = builder("#include \"../up.clh\"\n#include <dir.clh>\n")
                .source("kernel void first(global int* o) { o[0] = A + B + C; }\n")
                .source("kernel void second(global int* o) { o[get_global_id(0)] = 1; }")
                .header("../up.clh", "#define A 3\n")
                .header("include/dir.clh", "#define C 5\n")
                .includeDirectory("include")
                .options("-DB=\"4 + 5\" -cl-std=CL1.2 -ze-opt-disable")
                .build();
        byte[] spirv = compiler.compile(descriptor);
        assertEquals(
                SPIRV_MAGIC,
                ByteBuffer.wrap(spirv).order(ByteOrder.LITTLE_ENDIAN).getInt());
        String text = new String(spirv, ISO_8859_1);
        assertTrue(text.contains("first") && text.contains("second"));
        assertArrayEquals(spirv, compiler.compile(descriptor));
        assertNoFiles();
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("The output of the compiler is the build log, and no file is left")
    void fails(Tool tool) throws Exception {
        PathCompiler compiler = compiler(tool);
        for (KernelDescriptor wrong : List.of(
                builder("kernel void k() { no_such_thing = 1; }").build(),
                builder("kernel void k() {}").options("-no_such_thing").build(),
                builder("#include \"no_such_thing\"\nkernel void k() {}").build())) {
            CompileException failure =
                    assertThrows(CompileException.class, () -> compiler.compile(wrong));
            assertTrue(failure.buildLog().contains("no_such_thing"), failure.buildLog());
        }
        CompileException outside = assertThrows(
                CompileException.class,
                () -> compiler.compile(builder("kernel void k() {}")
                        .header("../../../../../../../../../x", "")
                        .build()));
        assertTrue(String.valueOf(outside.getMessage()).contains("is outside of"));
        assertNoFiles();
    }

    @Test
    @DisplayName("ocloc declares the extensions of the target's device; an unknown device has none")
    void device() throws Exception {
        PathCompiler compiler = compiler(Tool.OCLOC);
        String source = "kernel void k(global half* o) { o[0] = (half) 1; }";
        compiler.compile(builder(source).build());
        Target unknown = new Target(Backend.LEVEL_ZERO, "intel", "New id 0x1", "1.3.0");
        CompileException failure = assertThrows(
                CompileException.class,
                () -> compiler.compile(KernelDescriptor.builder(unknown, "sample")
                        .source(source)
                        .build()));
        assertTrue(failure.buildLog().contains("half"), failure.buildLog());
        compiler.compile(KernelDescriptor.builder(unknown, "sample")
                .source("kernel void k(global int* o) { o[0] = 1; }")
                .build());
    }

    /** Returns the number of different modules for devices of which the last two have doubles. */
    private static int modules(PathCompiler compiler, String statement) throws Exception {
        Set<Sha256> modules = new HashSet<>();
        for (String device : List.of("0x9a49", "0x4905", "0x1912", "0x0bd5")) {
            modules.add(Sha256.of(compiler.compile(KernelDescriptor.builder(
                            new Target(Backend.LEVEL_ZERO, "intel", "GPU id " + device, "1.3.0"),
                            "sample")
                    .source("kernel void k(global float* o) { " + statement + " }")
                    .build())));
        }
        return modules.size();
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("ocloc makes one module of a portable source for all devices, and several of a"
            + " literal without suffix and of printf")
    void portable() throws Exception {
        PathCompiler compiler = compiler(Tool.OCLOC);
        assertEquals(1, modules(compiler, "o[0] = sqrt(o[1]) * 0.1f;"));
        assertEquals(2, modules(compiler, "o[0] = o[1] * 0.1;"));
        assertEquals(2, modules(compiler, "printf(\"%f\", o[0]);"));
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("a tool has an identity, without files left; another version has another one")
    void identity(Tool tool) throws Exception {
        PathCompiler compiler = compiler(tool);
        SpirvCompiler.Presence presence = compiler.presence();
        assertInstanceOf(SpirvCompiler.Presence.Installed.class, presence);
        assertEquals(presence, compiler.presence());
        assertNoFiles();
        assertInstanceOf(
                SpirvCompiler.Presence.Absent.class,
                new PathCompiler("relative/absent", temporary).presence());
        // an update in place: another program under the same name
        String program = tool == Tool.OCLOC ? "ocloc" : "clang-22";
        Path script = programs.resolve(program);
        Files.delete(script);
        Files.writeString(script, """
                #!/bin/sh
                echo clang version 99
                [ "$1" = query ] && printf 99.1.1234 > "$2"
                """);
        assertTrue(script.toFile().setExecutable(true));
        Files.setLastModifiedTime(script, FileTime.fromMillis(1));
        assertTrue(
                compiler.presence() instanceof SpirvCompiler.Presence.Installed(String identity)
                        && identity.contains("99"),
                compiler.presence()::toString);
        Files.writeString(script, "#!/bin/sh\nexit 1\n");
        Files.setLastModifiedTime(script, FileTime.fromMillis(2));
        assertInstanceOf(SpirvCompiler.Presence.Unidentified.class, compiler.presence());
        assertNoFiles();
    }

    @Test
    @DisplayName("without a compiler, the message names the packages to install")
    void missing() throws Exception {
        for (String path : List.of("", ":", "\0", programs.toString())) {
            CompileException failure =
                    assertThrows(CompileException.class, () -> new PathCompiler(path, temporary)
                            .compile(builder("kernel void k() {}").build()));
            String message = String.valueOf(failure.getMessage());
            assertTrue(message.contains("apt-get install intel-opencl-icd"), message);
            assertTrue(message.contains("apt-get install clang-14 llvm-spirv-14"), message);
        }
        Files.createDirectory(programs.resolve("ocloc"));
        assertFalse(SpirvTool.find(programs.toString()).isPresent(), "a directory is no program");
        Files.writeString(programs.resolve("clang"), "");
        assertFalse(SpirvTool.find(programs.toString()).isPresent(), "a file is no program");
    }
}
