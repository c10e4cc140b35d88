package dev.granary.gpu.offline;

import dev.granary.cache.Backend;
import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import dev.granary.cache.support.FileTrees;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.device.IntelDevice;
import dev.granary.gpu.spirv.SpirvCompiler;
import dev.granary.gpu.tool.HeaderDirectory;
import dev.granary.gpu.tool.OclocTool;
import dev.granary.gpu.tool.SpirvTool;
import dev.granary.gpu.tool.ToolRun;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Intel's offline compiler of this machine. It makes the binaries that the driver of its version
 * would make on a device, without device and driver. Thread-safe.
 *
 * <p>A binary for Level Zero is compiled from SPIR-V, as the engine does; one for OpenCL from the
 * source. A program that has SPIR-V is compiled from it for both. Each call has a temporary
 * directory of its own, and runs one or two processes.
 */
public final class Ocloc {
    private static final String NAME = "ocloc";
    /** ocloc compiles only the text behind this mark of built-in kernels, if a source has it. */
    private static final String BUILT_IN_MARK = "R\"===(";

    /** Parts of the output for a device that the compiler does not know, by its versions. */
    private static final List<String> UNKNOWN_DEVICE =
            List.of("Could not determine device target", "Cannot get HW Info");

    private static final Duration TRIAL_LIMIT = Duration.ofMinutes(1);

    private final OclocTool program;
    private final DriverVersion version;
    private final Path temporary;
    private final Map<IntelDevice, Boolean> supported = new ConcurrentHashMap<>();

    private Ocloc(OclocTool program, DriverVersion version, Path temporary) {
        this.program = program;
        this.version = version;
        this.temporary = temporary;
    }

    /** The result of the search for the compiler. */
    public sealed interface Probe {
        /** The compiler is installed. */
        record Found(Ocloc ocloc) implements Probe {}

        /** It is not, or it does not work, with the cause and the package to install. */
        record Missing(String cause) implements Probe {}
    }

    /** Searches the compiler in the directories of the environment variable {@code PATH}. */
    public static Probe probe() {
        return probe(SpirvTool.PATH, Path.of(System.getProperty("java.io.tmpdir")));
    }

    static Probe probe(String searchPath, Path temporary) {
        Optional<OclocTool> program = SpirvTool.program(searchPath, NAME).map(OclocTool::new);
        if (program.isEmpty()) {
            return new Probe.Missing("ocloc, Intel's offline compiler, is not on the PATH; install"
                    + " it, on Debian: apt-get install intel-opencl-icd (it has ocloc; intel-ocloc"
                    + " from Debian 13 on)");
        }
        try {
            String text = program.get().version(temporary);
            return DriverVersion.parse(text)
                    .<Probe>map(version ->
                            new Probe.Found(new Ocloc(program.get(), version, temporary)))
                    .orElseGet(() -> new Probe.Missing(program.get().program()
                            + " does not tell the version of its driver, but '" + text
                            + "'; install another ocloc"));
        } catch (IOException e) {
            return new Probe.Missing(program.get().program() + " does not work: " + e.getMessage());
        }
    }

    /** Returns this compiler with another parent of its temporary directories. */
    public Ocloc within(Path parent) {
        return new Ocloc(program, version, parent);
    }

    /** Returns the identity of its front end, as that of {@link SpirvCompiler#presence}. */
    public String identity() {
        return OclocTool.identity(version.text());
    }

    /**
     * Returns the targets of a name: a product family such as {@code tgllp} with all of its devices
     * that this compiler knows, a PCI device id such as {@code 0x9a49}, or a target as
     * {@link Target#path()} writes it. {@code opencl/} or {@code level-zero/} before the first two
     * selects one backend. The first call for a device takes some 0.1 s.
     *
     * @throws IllegalArgumentException if there is none, with a message for the user
     */
    public List<Target> targets(String name) {
        return new OclocTargets(version, this::isSupported).of(name);
    }

    private boolean isSupported(IntelDevice device) {
        return supported.computeIfAbsent(device, this::tryDevice);
    }

    /** Returns false if the compiler says of an empty kernel that it does not know the device. */
    private boolean tryDevice(IntelDevice device) {
        try {
            Path directory =
                    Files.createTempDirectory(temporary, "granary-ocloc-").toAbsolutePath();
            try {
                Path source = directory.resolve("program.cl");
                Files.writeString(source, "kernel void trial() {}\n");
                ToolRun run = program.compile(
                        directory,
                        source,
                        Optional.of(device),
                        List.of(),
                        TRIAL_LIMIT,
                        OclocTool.SPIRV_ONLY);
                return run.isSuccess() || UNKNOWN_DEVICE.stream().noneMatch(run.output()::contains);
            } finally {
                FileTrees.delete(directory);
            }
        } catch (IOException e) {
            return true; // nothing is known of the device; each compile reports its failure
        }
    }

    /**
     * Compiles a program for its target.
     *
     * @param limit the time after which a process is killed
     * @return the binary, as the driver returns it on the device
     * @throws CompileException if the program does not compile, with the output of the compiler
     * @throws IOException if the compiler cannot be run, was ended by a signal, or, as a
     *     {@link ToolRun.OverdueException}, did not end within the limit
     * @throws IllegalArgumentException if the target is not one of {@link #targets}
     */
    public byte[] compile(KernelDescriptor descriptor, Duration limit)
            throws CompileException, IOException {
        Optional<MemorySegment> spirv = descriptor.spirv();
        if (spirv.isPresent()) {
            return fromSpirv(descriptor, spirv.get().toArray(ValueLayout.JAVA_BYTE), limit);
        }
        return descriptor.target().backend().equals(Backend.OPENCL)
                ? fromSource(descriptor, limit)
                : fromSpirv(descriptor, toSpirv(descriptor, limit), limit);
    }

    private byte[] fromSource(KernelDescriptor descriptor, Duration limit)
            throws CompileException, IOException {
        return run(descriptor, OclocTool.BINARY, (device, files) -> {
            List<String> options = new ArrayList<>(files.options());
            options.addAll(descriptor.optionTokens());
            return program.compile(files.directory(), files.source(), device, options, limit);
        });
    }

    /**
     * Compiles a program to SPIR-V as the engine of Level Zero does, which is the first step of
     * {@link #compile} for that backend. The errors are those of {@link #compile}.
     *
     * @return the module, without the options of the driver
     */
    public byte[] toSpirv(KernelDescriptor descriptor, Duration limit)
            throws CompileException, IOException {
        return run(descriptor, OclocTool.SPIRV, (device, files) -> {
            List<String> options = new ArrayList<>(files.options());
            descriptor.optionTokens().stream()
                    .filter(option -> !SpirvCompiler.isForDriver(option))
                    .forEach(options::add);
            return program.compile(
                    files.directory(),
                    files.source(),
                    device,
                    options,
                    limit,
                    OclocTool.SPIRV_ONLY);
        });
    }

    /**
     * Compiles a module of SPIR-V for the target of a program: the second step of {@link #compile}
     * for Level Zero, and the only one if the program has SPIR-V. The errors are those of
     * {@link #compile}.
     *
     * @param spirv a module of the program
     */
    public byte[] fromSpirv(KernelDescriptor descriptor, byte[] spirv, Duration limit)
            throws CompileException, IOException {
        // the driver of Level Zero keeps no SPIR-V in its binaries
        String[] more = descriptor.target().backend().equals(Backend.LEVEL_ZERO)
                ? new String[] {"-spirv_input", "-exclude_ir"}
                : new String[] {"-spirv_input"};
        return run(
                descriptor,
                OclocTool.BINARY,
                (device, files) -> program.compile(
                        files.directory(),
                        Files.write(files.directory().resolve(OclocTool.SPIRV), spirv),
                        device,
                        SpirvCompiler.driverOptions(descriptor),
                        limit,
                        more));
    }

    /** A run of the compiler for a device, over the files of a program. */
    @FunctionalInterface
    private interface CompilerRun {
        ToolRun of(Optional<IntelDevice> device, HeaderDirectory files) throws IOException;
    }

    /** Returns the output that a run leaves. */
    private byte[] run(KernelDescriptor descriptor, String output, CompilerRun compiler)
            throws CompileException, IOException {
        Target target = descriptor.target();
        Optional<IntelDevice> device = IntelDevice.of(target)
                .filter(_ -> version.isDriver(target.backend(), target.driver()));
        if (device.isEmpty()) {
            throw new IllegalArgumentException(
                    "ocloc of " + version.text() + " does not compile for " + target.name());
        }
        if (descriptor.sources().stream().anyMatch(text -> text.contains(BUILT_IN_MARK))) {
            throw new CompileException(
                    descriptor.name() + " does not compile offline: its source contains "
                            + BUILT_IN_MARK + ", which ocloc does not read as a part of it",
                    "");
        }
        try (HeaderDirectory files = new HeaderDirectory(descriptor, temporary)) {
            ToolRun run = compiler.of(device, files);
            if (run.signal().isPresent()) {
                throw new IOException(
                        "ocloc was ended by signal " + run.signal().getAsInt());
            }
            if (!run.isSuccess()) {
                throw new CompileException(descriptor.name() + " does not compile", run.output());
            }
            return Files.readAllBytes(files.directory().resolve(output));
        }
    }
}
