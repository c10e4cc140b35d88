package dev.granary.it;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.claim.ClaimCoordinator;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.demo.DriverCacheSettings;
import dev.granary.demo.kernels.DemoKernel;
import dev.granary.demo.kernels.DemoKernels;
import dev.granary.demo.kernels.KernelCheckResult;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClKernels;
import dev.granary.gpu.opencl.OpenClPrimitive;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * A process that gets some of the demo's kernels through Granary, launches them and checks the results, step by step as a test says: it tells
 * {@link #READY}, is told to go, tells what is asked of it on the way, and at last a {@link Result}.
 */
final class LookUpProcess implements AutoCloseable {
    /** Told when everything is open. */
    static final String READY = "ready";

    /** Told before it compiles; it goes on when it is told so. */
    static final String COMPILING = "compiling";

    /** Told when it waits for another process; it goes on by itself. */
    static final String WAITING = "waiting";

    private static final List<String> QUICK = List.of("vector-add", "saxpy", "transpose", "mandelbrot");

    private final Process process;
    private final Writer commands;
    private final BufferedReader answers;
    private final Path driverCache;

    private LookUpProcess(Process process, Path driverCache) {
        this.process = process;
        this.commands = process.outputWriter(UTF_8);
        this.answers = process.inputReader(UTF_8);
        this.driverCache = driverCache;
    }

    /** What the process did. */
    record Result(long compiled, long local, long bucket, long waited, long waitsGivenUp, long claimsUnavailable, long right) {}

    /** Starts one for so many kernels; it tells of the {@code moments} named. */
    static LookUpProcess start(Map<String, String> variables, int kernels, String... moments) throws IOException {
        Path driverCache = Files.createTempDirectory("granary-it-pocl-");
        ProcessBuilder builder = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=deny",
                "-cp", System.getProperty("java.class.path"), LookUpProcess.class.getName(), Integer.toString(kernels),
                String.join(",", moments));
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        // Of several processes that start at once, LWJGL lets some unpack its library into the working directory.
        builder.directory(driverCache.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("GRANARY_") || name.startsWith("AWS_"));
        builder.environment().putAll(DriverCacheSettings.variables(driverCache));
        builder.environment().put("XDG_CONFIG_HOME", "/nonexistent");
        builder.environment().put("GRANARY_BUCKET_WAIT", "1m"); // hits are expected, however busy the machine is
        builder.environment().putAll(variables);
        return new LookUpProcess(builder.start(), driverCache);
    }

    /** Waits until it tells that. */
    void await(String moment) throws IOException {
        String told = answers.readLine();
        if (!moment.equals(told)) {
            throw new IOException("the process said '" + told + "' instead of '" + moment + "'");
        }
    }

    /** Tells it to go on. */
    void go() throws IOException {
        commands.write("go\n");
        commands.flush();
    }

    /** Waits for its end. */
    Result result() throws IOException, InterruptedException {
        Result result = new Gson().fromJson(Objects.requireNonNull(answers.readLine(), "the process ended without a result"), Result.class);
        if (process.waitFor() != 0) {
            throw new IOException("the process ended with " + process.exitValue());
        }
        return result;
    }

    /** Ends it at once, as {@code kill -9} does. */
    void kill() {
        process.destroyForcibly().onExit().join();
    }

    /** Sends it a signal, such as STOP and CONT. */
    void signal(String name) throws IOException, InterruptedException {
        int status = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start().waitFor();
        if (status != 0) {
            throw new IOException("kill -" + name + " ended with " + status);
        }
    }

    @Override
    public void close() throws IOException {
        kill();
        try (Stream<Path> files = Files.walk(driverCache)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /** What runs in the other process. */
    public static void main(String[] arguments) throws Exception {
        List<DemoKernel> kernels = DemoKernels.all().stream()
                .filter(kernel -> QUICK.contains(kernel.name()))
                .limit(Long.parseLong(arguments[0]))
                .toList();
        List<String> moments = Arrays.asList(arguments[1].split(",", -1));
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst());
                Granary granary = Granary.open(GranaryConfig.fromEnvironment());
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            StoppingEngine stopping = new StoppingEngine(engine, moments.contains(COMPILING), in);
            System.out.println(READY);
            in.readLine();
            if (moments.contains(WAITING)) {
                tellWhenWaiting(Thread.currentThread());
            }
            long right = 0;
            for (DemoKernel kernel : kernels) {
                OpenClPrimitive primitive = granary.primitive(stopping, kernel.descriptor(engine.target()));
                try (OpenClKernels live = engine.load(primitive)) {
                    right += kernel.verify(engine, live, new SplittableRandom(1)) instanceof KernelCheckResult.Right ? 1 : 0;
                }
            }
            granary.flush(Duration.ofMinutes(1));
            GranaryStatistics counted = granary.statistics();
            System.out.println(new Gson().toJson(new Result(counted.compiled(), counted.local().hits(),
                    counted.layers().stream().mapToLong(layer -> layer.results().hits()).sum(), counted.waited(), counted.waitsGivenUp(),
                    counted.claimsUnavailable(), right)));
        }
    }

    /** Nobody outside can see that a look-up waits: its thread's stack tells. */
    private static void tellWhenWaiting(Thread looking) {
        Thread.ofPlatform().daemon().start(() -> {
            while (!isWaiting(looking)) {
                LockSupport.parkNanos(1_000_000);
            }
            System.out.println(WAITING);
        });
    }

    private static boolean isWaiting(Thread thread) {
        return thread.getState() == Thread.State.TIMED_WAITING
                && Arrays.stream(thread.getStackTrace()).anyMatch(frame -> frame.getClassName().equals(ClaimCoordinator.class.getName()));
    }

    /** An engine that, where it is asked to, compiles only when it is told to go on. */
    private record StoppingEngine(OpenClEngine engine, boolean stops, BufferedReader in) implements Engine<KernelDescriptor, OpenClPrimitive> {
        @Override
        public Target target() {
            return engine.target();
        }

        @Override
        public OpenClPrimitive create(KernelDescriptor descriptor) throws CompileException {
            if (stops) {
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
        public OpenClPrimitive create(KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind) throws RestoreException {
            return engine.create(descriptor, binaries, kind);
        }

        @Override
        public void close() {}
    }
}
