package dev.granary.cli.compiler;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cli.device.HostDevice;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.UsageException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.spirv.FrontEnd;
import dev.granary.gpu.spirv.IntermediateDescriptor;
import dev.granary.gpu.spirv.SpirvCompiler;

import org.jspecify.annotations.Nullable;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Stream;

/**
 * A compiler process. Requests are lines of standard input. A response is a file, whose completion
 * a line of standard output reports, since the driver may print anything there.
 *
 * <p>The process ends at once when its input ends: its parent has closed it, or was killed. A
 * driver that hangs does not prevent this.
 */
final class CompilerMain {
    static final String RESPONSE_FILE = "response.json";
    private static final String BINARY_PREFIX = "built-";

    /** The stack of the thread that calls drivers; compilers recurse with the source's nesting. */
    private static final long STACK_BYTES = 16L << 20;

    /** The number of programs after which the driver's memory for them is released. */
    private static final int PROGRAMS_PER_ENGINE = 64;

    private final String token;
    private final Path directory;
    private @Nullable HostDevice device;
    private @Nullable KernelEngine engine;
    private int programs;

    private CompilerMain(String token, Path directory) {
        this.token = token;
        this.directory = directory;
    }

    /**
     * Runs the process.
     *
     * @param arguments the line that reports a response, and the directory for files
     */
    public static void main(String[] arguments) throws IOException {
        CompilerMain main = new CompilerMain(arguments[0], Path.of(arguments[1]));
        BlockingQueue<String> requests = new LinkedBlockingQueue<>();
        new Thread(null, () -> main.serve(requests), "granary-compiler", STACK_BYTES).start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            requests.add(line);
        }
        main.deleteFiles();
        // not exit: destructors of a driver that is compiling may crash or hang
        Runtime.getRuntime().halt(0);
    }

    private void serve(BlockingQueue<String> requests) {
        try {
            while (true) {
                String request = requests.take();
                Record response;
                try {
                    response = (Record)
                            respond(CompilerMessages.decode(request, CompilerRequest.class));
                } catch (UsageException e) {
                    response = new CompilerResponse.Misused(String.valueOf(e.getMessage()));
                } catch (CommandFailedException e) {
                    response = new CompilerResponse.Failed(String.valueOf(e.getMessage()));
                } catch (Throwable e) { // an error too: the parent waits for a response
                    response = new CompilerResponse.Failed(
                            e.getMessage() == null ? e.toString() : e.getMessage());
                }
                Files.writeString(
                        directory.resolve(RESPONSE_FILE), CompilerMessages.encode(response));
                // a line of its own, whatever the driver has printed
                System.out.print("\n" + token + "\n");
                System.out.flush();
            }
        } catch (InterruptedException | IOException e) {
            System.err.println("the compiler process cannot respond: " + e);
            Runtime.getRuntime().halt(1);
        }
    }

    private CompilerResponse respond(CompilerRequest request)
            throws CommandFailedException, UsageException, IOException {
        return switch (request) {
            case CompilerRequest.Open open -> open(open);
            case CompilerRequest.Compile compile -> compile(compile);
            case CompilerRequest.CompileIntermediate step -> compileIntermediate(step.program());
            case CompilerRequest.Restore restore -> restore(restore);
        };
    }

    private CompilerResponse open(CompilerRequest.Open request)
            throws CommandFailedException, UsageException {
        OpenCl.expectLaunches(request.geometries().stream()
                .map(launch -> new Geometry(launch.global(), launch.local()))
                .toList());
        device = new DeviceSelection(Backend.ofPath(request.backend()), request.device()).one();
        Target target = engine().target();
        return new CompilerResponse.Opened(
                target.backend().name(), target.vendor(), target.device(), target.driver());
    }

    private CompilerResponse compile(CompilerRequest.Compile request) throws IOException {
        KernelEngine compiler = engine();
        KernelDescriptor descriptor = request.program().descriptor(compiler.target());
        try {
            if (request.intermediate().isEmpty()) {
                return built(compiler.create(descriptor));
            }
            KernelBinaries module = BinaryFiles.read(directory, request.intermediate());
            return compiler instanceof LevelZeroEngine levelZero
                    ? built(levelZero.create(descriptor, module.binary(0)))
                    : new CompilerResponse.Failed("the driver takes no intermediate program");
        } catch (CompileException e) {
            return failed(e);
        }
    }

    private CompilerResponse compileIntermediate(ProgramMessage program) throws IOException {
        try {
            FrontEnd frontEnd = new FrontEnd(SpirvCompiler.onPath());
            return built(frontEnd.create(
                    IntermediateDescriptor.of(program.descriptor(engine().target()))));
        } catch (CompileException e) {
            return failed(e);
        }
    }

    private static CompilerResponse failed(CompileException cause) {
        String message = String.valueOf(cause.getMessage());
        return new CompilerResponse.CompileFailed(
                message.lines().findFirst().orElse(message), cause.buildLog());
    }

    private CompilerResponse restore(CompilerRequest.Restore request) throws IOException {
        KernelEngine driver = engine();
        try {
            return built(driver.create(
                    request.program().descriptor(driver.target()),
                    BinaryFiles.read(directory, request.binaries()),
                    BinaryKind.KERNEL));
        } catch (RestoreException e) {
            return new CompilerResponse.RestoreRefused(
                    String.valueOf(e.getMessage()), e.isMissingKernel());
        }
    }

    private CompilerResponse built(Primitive primitive) throws IOException {
        // first of all: this makes some drivers finish compiling
        List<String> binaries = primitive.origin() == Primitive.Origin.RESTORED
                ? List.of() // the sender has them
                : BinaryFiles.write(
                        directory, BINARY_PREFIX, primitive.getBinaries(BinaryKind.KERNEL));
        return new CompilerResponse.Built(
                primitive.origin().name(),
                primitive.compileTime().toNanos(),
                primitive.kernels(),
                primitive.geometries(),
                binaries);
    }

    private KernelEngine engine() {
        KernelEngine current = engine;
        if (current != null && programs++ < PROGRAMS_PER_ENGINE) {
            return current;
        }
        if (current != null) {
            current.close();
        }
        HostDevice opened = device;
        if (opened == null) {
            throw new IllegalStateException("no device is open");
        }
        current = opened.open();
        engine = current;
        programs = 0;
        return current;
    }

    /** Deletes the files of this process, as its parent may be gone. */
    private void deleteFiles() {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                Files.deleteIfExists(file);
            }
            Files.deleteIfExists(directory);
            Path parent = directory.getParent();
            if (parent != null) {
                Files.deleteIfExists(parent); // by the last process
            }
        } catch (IOException e) {
            // left, or deleted by the parent
        }
    }
}
