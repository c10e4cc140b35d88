package dev.granary.it;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.support.FileTrees;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.machine.MachineClaims;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.demo.Program;
import dev.granary.demo.Programs;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.testing.InteractiveProcess;
import dev.granary.testing.SystemTool;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * A process that gets some of the demo's programs through Granary, launches them and checks the
 * results, controlled by a test. It prints {@link #READY}, waits for a line, prints the requested
 * events on the way, and at last a {@link Result}.
 */
final class LookupProcess implements AutoCloseable {
    /** Event: everything is open. The process then waits for a line. */
    static final String READY = "ready";

    /** Event: a compile is about to begin. The process then waits for a line. */
    static final String COMPILING = "compiling";

    /** Event: the process waits for another one. It continues by itself. */
    static final String WAITING = "waiting";

    /** The programs of the demo that compile quickly. */
    static final List<Program> QUICK =
            Programs.named("vector-add", "saxpy", "transpose", "mandelbrot");

    private final InteractiveProcess process;
    private final Path driverCache;

    private LookupProcess(InteractiveProcess process, Path driverCache) {
        this.process = process;
        this.driverCache = driverCache;
    }

    /** The counters of the process. */
    record Result(
            long compiled,
            long local,
            long bucket,
            long waited,
            long waitsGivenUp,
            long claimsUnavailable,
            long right) {}

    /** Starts a process for that many kernels, which prints the given {@code events}. */
    static LookupProcess start(Map<String, String> variables, int kernels, String... events)
            throws IOException, InterruptedException {
        Path driverCache = Files.createTempDirectory("granary-it-pocl-");
        // If several processes start at once, some unpack the library of LWJGL into the working
        // directory.
        Process process = GranaryProcess.jvm(LookupProcess.class, driverCache, variables)
                .directory(driverCache)
                .start(Integer.toString(kernels), String.join(",", events));
        return new LookupProcess(new InteractiveProcess(process), driverCache);
    }

    /** Waits until the process prints an event. */
    void await(String event) throws IOException {
        String line = process.answer();
        if (!event.equals(line)) {
            throw new IOException("the process printed '" + line + "' instead of '" + event + "'");
        }
    }

    /** Makes the process continue. */
    void proceed() throws IOException {
        process.send("go");
    }

    /** Waits for the end of the process, and returns its result. */
    Result result() throws IOException, InterruptedException {
        Result result = new Gson().fromJson(process.answer(), Result.class);
        int exitCode = process.finish();
        if (exitCode != 0) {
            throw new IOException("the process ended with " + exitCode);
        }
        return result;
    }

    /** Kills the process, as {@code kill -9} does. */
    void kill() {
        process.kill();
    }

    /** Sends a signal to the process, such as STOP or CONT. */
    void signal(String name) throws IOException, InterruptedException {
        if (!SystemTool.run("kill", "-" + name, Long.toString(process.pid()))) {
            throw new IOException("kill -" + name + " failed");
        }
    }

    @Override
    public void close() throws IOException {
        kill();
        FileTrees.delete(driverCache);
    }

    /** The main method of the process. */
    public static void main(String[] arguments) throws Exception {
        List<Program> programs = QUICK.subList(0, Integer.parseInt(arguments[0]));
        List<String> events = Arrays.asList(arguments[1].split(",", -1));
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst());
                Granary granary = Granary.open(GranaryConfig.fromEnvironment());
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            PausingEngine pausing = new PausingEngine(engine, events.contains(COMPILING), in);
            System.out.println(READY);
            in.readLine();
            if (events.contains(WAITING)) {
                printWhenWaiting(Thread.currentThread());
            }
            long right = 0;
            for (Program program : programs) {
                KernelProgram primitive =
                        granary.primitive(pausing, program.descriptor(engine.target(), ""));
                try (LoadedKernels live = engine.load(primitive)) {
                    right +=
                            program.check(engine, live, new SplittableRandom(1)).isEmpty() ? 1 : 0;
                }
            }
            granary.flush(Duration.ofMinutes(1));
            GranaryStatistics statistics = granary.statistics();
            System.out.println(new Gson()
                    .toJson(new Result(
                            statistics.count(Counter.COMPILED),
                            statistics.count(Counter.LOCAL_HITS),
                            statistics.layers().stream()
                                    .mapToLong(layer -> layer.count(Counter.LAYER_HITS))
                                    .sum(),
                            statistics.count(Counter.CLAIM_HITS),
                            statistics.count(Counter.CLAIM_WAITS_GIVEN_UP),
                            statistics.count(Counter.CLAIMS_UNAVAILABLE),
                            right)));
        }
    }

    /** Prints the event as soon as the stack of the thread shows that its lookup waits. */
    private static void printWhenWaiting(Thread lookupThread) {
        Thread.ofPlatform().daemon().start(() -> {
            while (!isWaiting(lookupThread)) {
                LockSupport.parkNanos(1_000_000);
            }
            System.out.println(WAITING);
        });
    }

    private static boolean isWaiting(Thread thread) {
        return thread.getState() == Thread.State.TIMED_WAITING
                && Arrays.stream(thread.getStackTrace()).anyMatch(frame -> frame.getClassName()
                        .equals(MachineClaims.class.getName()));
    }

    /** An engine that optionally waits for a line before each compile. */
    private record PausingEngine(OpenClEngine engine, boolean isPausing, BufferedReader in)
            implements Engine<KernelDescriptor, KernelProgram> {
        @Override
        public Target target() {
            return engine.target();
        }

        @Override
        public KernelProgram create(KernelDescriptor descriptor) throws CompileException {
            if (isPausing) {
                System.out.println(COMPILING);
                try {
                    in.readLine();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
            return engine.create(descriptor);
        }

        @Override
        public KernelProgram create(
                KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
                throws RestoreException {
            return engine.create(descriptor, binaries, kind);
        }

        @Override
        public void close() {}
    }
}
