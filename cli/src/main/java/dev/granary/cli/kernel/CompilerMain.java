package dev.granary.cli.kernel;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.support.FileTrees;
import dev.granary.cli.kernel.CompilerFiles.Outcome;
import dev.granary.cli.kernel.CompilerFiles.Request;
import dev.granary.cli.kernel.CompilerFiles.Response;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.opencl.OpenCl;

import org.jspecify.annotations.Nullable;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Stream;

/**
 * A compiler process. Requests are lines of standard input, responses lines of standard output that
 * begin with a token, since the driver may print anything there.
 *
 * <p>The process ends at once when its input ends: its parent has closed it, or was killed. A
 * driver that hangs does not prevent this.
 */
final class CompilerMain {
    /** The stack of the thread that calls drivers; compilers recurse with the source's nesting. */
    private static final long STACK_BYTES = 16L << 20;

    private static final int GEOMETRIES = 4;

    private final String token;
    private final CompilerFiles files;
    private @Nullable KernelEngine engine; // once it is open

    private CompilerMain(String token, Path directory) {
        this.token = token;
        this.files = new CompilerFiles(directory);
    }

    /**
     * Runs the process.
     *
     * @param arguments the token, the directory for files, the path of the device's backend or an
     *     empty text, the device's number or a part of its name, and the geometries of launches
     *     that binaries may have to cover
     */
    public static void main(String[] arguments) throws IOException {
        CompilerMain main = new CompilerMain(arguments[0], Path.of(arguments[1]));
        BlockingQueue<Request> requests = new LinkedBlockingQueue<>();
        new Thread(null, () -> main.serve(arguments, requests), "granary-compiler", STACK_BYTES)
                .start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            requests.add(Request.valueOf(line));
        }
        main.deleteFiles();
        // not exit: destructors of a driver that is compiling may crash or hang
        Runtime.getRuntime().halt(0);
    }

    private void serve(String[] arguments, BlockingQueue<Request> requests) {
        try {
            respond(() -> open(arguments));
            while (true) {
                Request request = requests.take();
                respond(() -> run(request));
            }
        } catch (InterruptedException e) {
            Runtime.getRuntime().halt(1);
        }
    }

    /** Runs a step, whose failure is a response. */
    private void respond(Callable<Response> step) {
        Response response;
        try {
            response = step.call();
        } catch (CompileException e) {
            response = new Response(Outcome.COMPILE_FAILED, e.reason() + "\n" + e.buildLog());
        } catch (RestoreException e) {
            response = failure(e.isMissingKernel() ? Outcome.MISSING_KERNEL : Outcome.FAILED, e);
        } catch (ConfigException e) {
            response = failure(Outcome.MISUSED, e);
        } catch (Throwable e) { // an error too: the parent waits for a response
            response = failure(Outcome.FAILED, e);
        }
        // a line of its own, whatever the driver has printed
        System.out.print("\n" + token + response + "\n");
        System.out.flush();
    }

    private static Response failure(Outcome outcome, Throwable e) {
        return new Response(outcome, e.getMessage() == null ? e.toString() : e.getMessage());
    }

    private Response open(String[] arguments) throws ConfigException {
        OpenCl.expectLaunches(Arrays.stream(arguments)
                .skip(GEOMETRIES)
                .map(CompilerMain::geometry)
                .toList());
        KernelEngine opened = new DeviceSelection(Backend.ofPath(arguments[2]), arguments[3])
                .one()
                .open();
        engine = opened;
        Target target = opened.target();
        return new Response(
                Outcome.OPENED,
                String.join(
                        "\n",
                        target.backend().path(),
                        target.vendor(),
                        target.device(),
                        target.driver()));
    }

    /** Returns the geometry of a text as {@link Geometry#toString} returns it. */
    private static Geometry geometry(String text) {
        List<List<Long>> sizes = Arrays.stream(text.split("/", 2))
                .map(part -> Stream.of(part.split("x"))
                        .filter(size -> !size.equals("*"))
                        .map(Long::valueOf)
                        .toList())
                .toList();
        return new Geometry(sizes.getFirst(), sizes.getLast());
    }

    private Response run(Request request) throws CompileException, RestoreException, IOException {
        KernelEngine driver = Objects.requireNonNull(engine);
        KernelDescriptor kernel = files.kernel(driver.target());
        KernelBinaries stored = files.stored();
        return switch (request) {
            case RESTORE -> built(driver.create(kernel, stored, BinaryKind.KERNEL));
            case COMPILE ->
                built(
                        stored.isEmpty()
                                ? driver.create(kernel)
                                : ((LevelZeroEngine) driver)
                                        .create(kernel, stored.segments().getFirst()));
        };
    }

    private Response built(Primitive primitive) throws CompileException, IOException {
        // first of all: this makes some drivers finish compiling
        KernelBinaries binaries = primitive.getBinaries(BinaryKind.KERNEL);
        if (binaries.isEmpty()) {
            throw new CompileException(
                    primitive.descriptor().name() + ": the driver returns no binaries", "");
        }
        files.write(
                primitive.descriptor().target(),
                binaries,
                primitive.compileTime(),
                primitive.kernels(),
                primitive.geometries());
        return new Response(Outcome.valueOf(primitive.origin().name()), "");
    }

    /** Deletes the files of this process, as its parent may be gone. */
    private void deleteFiles() {
        try {
            FileTrees.delete(files.directory());
            Path parent = files.directory().getParent();
            if (parent != null) {
                Files.deleteIfExists(parent); // by the last process
            }
        } catch (IOException e) {
            // left, or deleted by the parent
        }
    }
}
