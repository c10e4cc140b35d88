package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.support.FileTrees;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.SampleBinaries;
import dev.granary.gpu.offline.CompiledProgram;
import dev.granary.gpu.offline.CompilerProcessException;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.testing.Await;
import dev.granary.testing.ChildJvm;
import dev.granary.testing.InteractiveProcess;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Tests of compilers in processes of their own, with real drivers, crashes and kills. */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class CompilerProcessesTest {
    private static final Duration LIMIT = Duration.ofMinutes(8);
    private static final String ADD = "#include \"one.h\"\n__kernel void add(__global float *a) {"
            + " a[get_global_id(0)] += ONE * X; }\n";

    @BeforeAll
    static void assumeDevice() {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
    }

    private static CompilerProcesses start() throws Exception {
        return new CompilerProcesses(
                DeviceSelection.ANY,
                List.of(Geometry.of(1024).local(64)),
                LIMIT,
                LIMIT,
                directory(),
                Map.of());
    }

    /** Returns a directory that is deleted when this process ends. */
    private static Path directory() throws IOException {
        return new TemporaryDirectory("granary-compile-").path();
    }

    private static KernelDescriptor.Builder program(CompilerProcesses engine, String source) {
        return KernelDescriptor.builder(engine.target(), "program").source(source);
    }

    private static KernelDescriptor add(CompilerProcesses engine) {
        return program(engine, "/* first */")
                .source(ADD)
                .header("one.h", "#define ONE 1.0f\n")
                .options(List.of("-D", "X=(2.0f + 1.0f)"))
                .entry("add")
                .launch(Geometry.of(1024).local(64))
                .build();
    }

    /** Returns the processes of compilers that this one has started and that are alive. */
    private static List<ProcessHandle> compilers(ProcessHandle parent) {
        return parent.children().filter(ProcessHandle::isAlive).toList();
    }

    private static Duration processorTime(ProcessHandle process) {
        return process.info().totalCpuDuration().orElse(Duration.ZERO);
    }

    private static void assertWorks(CompilerProcesses engine) throws Exception {
        assertFalse(engine.create(add(engine)).getBinaries(BinaryKind.KERNEL).isEmpty());
    }

    @Test
    @DisplayName("A program is compiled and restored in another process, and the driver of this one"
            + " accepts the binaries; a binary for another device is a failure of its program")
    void compileAndRestore() throws Exception {
        try (CompilerProcesses engine = start();
                OpenClEngine here = OpenClEngine.open(OpenCl.devices().getFirst())) {
            assertEquals(here.target(), engine.target());
            KernelDescriptor descriptor = add(engine);
            CompiledProgram compiled = engine.create(descriptor);
            KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
            assertEquals(Primitive.Origin.COMPILED, compiled.origin());
            assertEquals(List.of("add"), compiled.kernels());
            assertEquals(List.of("add@1024/64"), compiled.geometries());
            assertTrue(compiled.compileTime().isPositive());
            assertEquals(
                    Primitive.Origin.RESTORED,
                    here.create(descriptor, binaries, BinaryKind.KERNEL).origin());
            CompiledProgram restored = engine.create(descriptor, binaries, BinaryKind.KERNEL);
            assertEquals(Primitive.Origin.RESTORED, restored.origin());
            assertEquals(binaries, restored.getBinaries(BinaryKind.KERNEL));
            assertEquals(Duration.ZERO, restored.compileTime());
            assertEquals(1, compilers(ProcessHandle.current()).size(), "one for one thread");
            assertIncompatible(engine.target(), binaries);
        }
        assertEquals(List.of(), compilers(ProcessHandle.current()), "left after close");
    }

    private static void assertIncompatible(Target target, KernelBinaries own) throws Exception {
        if (!target.vendor().equals("pocl")) {
            return; // the name of its device decides nothing
        }
        CompilerProcesses.requireCompatible(target, own);
        Target other = new Target(
                target.backend(), target.vendor(), target.device() + "x", target.driver());
        assertEquals(
                CompilerProcessException.Kind.INCOMPATIBLE,
                assertThrows(
                                CompilerProcessException.class,
                                () -> CompilerProcesses.requireCompatible(other, own))
                        .kind());
    }

    @Test
    @DisplayName("A refusal of the compiler has its log, also of a module that the device does not"
            + " take; the process goes on")
    void refusals() throws Exception {
        try (CompilerProcesses engine = start()) {
            CompileException failure = assertThrows(
                    CompileException.class,
                    () -> engine.create(program(engine, "__kernel void k() { undeclared = 1; }")
                            .build()));
            assertTrue(failure.buildLog().contains("undeclared"), failure::toString);
            assertEquals(null, failure.getCause());
            KernelDescriptor descriptor = add(engine);
            KernelBinaries none = KernelBinaries.none();
            assertThrows(
                    RestoreException.class,
                    () -> engine.create(descriptor, none, BinaryKind.KERNEL));
            // such as that of PoCL 3.1
            if (OpenCl.devices().getFirst().intermediateLanguages().isEmpty()) {
                assertModuleRefused(engine);
            }
            assertWorks(engine);
            assertEquals(1, compilers(ProcessHandle.current()).size());
        }
    }

    private static void assertModuleRefused(CompilerProcesses engine) throws Exception {
        KernelDescriptor module = KernelDescriptor.builder(engine.target(), "program")
                .spirv(SampleBinaries.bytes("saxpy.spv"))
                .build();
        String message =
                String.valueOf(assertThrows(CompileException.class, () -> engine.create(module))
                        .getMessage());
        assertTrue(message.contains("takes no SPIR-V, only OpenCL C"), message);
    }

    @Test
    @DisplayName("A compiler that crashes, or that the system kills, is a failure of its program"
            + " with the cause; the next program gets a new process")
    void crashAndKill() throws Exception {
        try (CompilerProcesses engine = start();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            CompileException crash = assertThrows(
                    CompileException.class,
                    () -> engine.create(program(engine, HardPrograms.crashing()).build()));
            CompilerProcessException cause =
                    assertInstanceOf(CompilerProcessException.class, crash.getCause());
            assertEquals(CompilerProcessException.Kind.CRASHED, cause.kind());
            assertTrue(crash.toString().contains("SIGSEGV"), crash::toString);
            assertWorks(engine);
            ProcessHandle idle = compilers(ProcessHandle.current()).getFirst();
            idle.destroyForcibly();
            idle.onExit().join();
            assertWorks(engine);
            ProcessHandle compiler = compilers(ProcessHandle.current()).getFirst();
            Duration before = processorTime(compiler);
            Future<CompileException> killed = threads.submit(() -> assertThrows(
                    CompileException.class,
                    () -> engine.create(program(engine, HardPrograms.endless()).build())));
            Await.holds(() -> processorTime(compiler).minus(before).toMillis() > 200);
            compiler.destroyForcibly();
            assertTrue(
                    killed.get().toString().contains("killed by signal 9 (SIGKILL)"),
                    () -> killed.resultNow().toString());
        }
    }

    @Test
    @DisplayName("A compiler that hangs is killed after the limit")
    void hang() throws Exception {
        try (CompilerProcesses engine = new CompilerProcesses(
                DeviceSelection.ANY,
                List.of(),
                LIMIT,
                Duration.ofSeconds(1),
                directory(),
                Map.of())) {
            CompileException failure = assertThrows(
                    CompileException.class,
                    () -> engine.create(program(engine, HardPrograms.endless()).build()));
            CompilerProcessException cause =
                    assertInstanceOf(CompilerProcessException.class, failure.getCause());
            assertEquals(CompilerProcessException.Kind.TIMED_OUT, cause.kind());
            assertTrue(
                    failure.toString().contains("did not end within 1 s (--compile-limit)"),
                    failure::toString);
            assertEquals(List.of(), compilers(ProcessHandle.current()));
        }
    }

    @Test
    @DisplayName("A device that does not exist is reported before anything is compiled")
    void noDevice() {
        ConfigException failure = assertThrows(
                ConfigException.class,
                () -> new CompilerProcesses(
                        new DeviceSelection(Optional.of(Backend.OPENCL), "abacus"),
                        List.of(),
                        LIMIT,
                        LIMIT,
                        directory(),
                        Map.of()));
        assertTrue(failure.toString().contains("no device name contains 'abacus'"));
    }

    @Test
    @DisplayName("A driver that does not open its device is killed after the limit for that, which"
            + " is not the one of compiles")
    void hangAtOpening() {
        CommandFailedException failure = assertThrows(
                CommandFailedException.class,
                // less than a JVM takes to start
                () -> new CompilerProcesses(
                        DeviceSelection.ANY,
                        List.of(),
                        Duration.ofMillis(1),
                        LIMIT,
                        directory(),
                        Map.of()));
        assertEquals(
                "the device cannot be opened, nothing was compiled: the driver did not open the"
                        + " device within 0 s and was killed",
                failure.getMessage());
        assertEquals(List.of(), compilers(ProcessHandle.current()));
    }

    /** Process that starts compilers, prints their directory, and compiles without end. */
    static final class Parent {
        public static void main(String[] arguments) throws Exception {
            CompilerProcesses engine = start();
            Thread.ofPlatform().start(() -> {
                try {
                    engine.create(program(engine, HardPrograms.endless()).build());
                } catch (CompileException e) {
                    System.out.println(e);
                }
            });
            assertWorks(engine);
            System.out.println(compilers(ProcessHandle.current()).getFirst().pid());
            System.out.flush();
            Thread.sleep(Duration.ofDays(1));
        }
    }

    @Test
    @DisplayName("A killed command (kill -9) leaves no compiler, even if it hangs, and no file")
    void killedParent() throws Exception {
        assertNothingLeft(true);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName(
            "A terminated command (Ctrl-C) leaves no compiler, even if it hangs, and no file; a"
                    + " compiler that it kills is not reported as crashed")
    void terminatedParent() throws Exception {
        assertNothingLeft(false);
    }

    private static void assertNothingLeft(boolean isKill) throws Exception {
        Path temporary = Files.createTempDirectory("granary-parent-");
        try (InteractiveProcess parent = new InteractiveProcess(ChildJvm.of(Parent.class)
                .shortLived()
                .flags("-Djava.io.tmpdir=" + temporary)
                .start())) {
            assertTrue(Long.parseLong(parent.answer()) > 0);
            List<ProcessHandle> compilers =
                    compilers(ProcessHandle.of(parent.pid()).orElseThrow());
            assertEquals(2, compilers.size(), "one that hangs, one that is idle");
            if (isKill) {
                parent.kill();
            } else {
                ProcessHandle process = ProcessHandle.of(parent.pid()).orElseThrow();
                process.destroy();
                process.onExit().join(); // it deletes its files at last
                // the end of the output, without a line about a killed compiler
                assertThrows(NullPointerException.class, parent::answer);
            }
            compilers.forEach(compiler -> compiler.onExit().join());
        }
        try (Stream<Path> left = Files.list(temporary)) {
            assertEquals(
                    List.of(),
                    left.filter(file -> file.getFileName().toString().contains("compile"))
                            .toList(),
                    isKill ? "after kill -9" : "after SIGTERM");
        }
        FileTrees.delete(temporary);
    }
}
