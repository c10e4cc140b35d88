package dev.granary.cli.kernel;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Engine.StepProvider;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive.Origin;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cli.kernel.CompilerFiles.Outcome;
import dev.granary.cli.kernel.CompilerFiles.Request;
import dev.granary.cli.kernel.CompilerFiles.Response;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.gpu.offline.CompiledProgram;
import dev.granary.gpu.offline.CompilerProcessException;
import dev.granary.gpu.offline.CompilerProcessException.Kind;
import dev.granary.gpu.spirv.FrontEnd;
import dev.granary.gpu.spirv.SpirvCompiler;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * An engine whose driver runs in processes of its own, one for each thread that uses the engine at
 * the same time. Thread-safe.
 *
 * <p>A process that crashes, is killed or hangs is a failure of its program only; the next program
 * gets a new process. If that happens during a restore, the entry counts as refused by the driver,
 * and the program is compiled. The processes end when this process does, even if it is killed.
 */
final class CompilerProcesses implements Engine<KernelDescriptor, CompiledProgram> {
    private static final int KEPT_LINES = 100;
    private static final int KEPT_CHARACTERS = 500;
    private static final long END_SECONDS = 2;

    /** The number of programs after which a process ends, with the driver's memory for them. */
    private static final int MAX_PROGRAMS = 64;

    private static final int SIGNAL_BASE = 128;
    private static final int MAX_SIGNAL = 64;
    private static final int SIGKILL = 9;
    private static final Map<Integer, String> SIGNALS = Map.of(
            4, "SIGILL", 6, "SIGABRT", 7, "SIGBUS", 8, "SIGFPE", SIGKILL, "SIGKILL", 11, "SIGSEGV",
            15, "SIGTERM");

    private final Path directory;
    private final Map<String, String> variables;
    private final List<String> arguments = new ArrayList<>();
    private final Duration openLimit;
    private final Duration limit;
    private final Deque<Worker> idle = new ConcurrentLinkedDeque<>();
    private final Target target;
    private final FrontEnd frontEnd = new FrontEnd(SpirvCompiler.onPath());

    /**
     * Starts the first process, which finds the device.
     *
     * @param geometries the geometries of all launches that are known; binaries cover them
     * @param openLimit the longest time until a process has opened the device
     * @param limit the longest time of one compile
     * @param directory the directory for files of the processes, which the caller deletes
     * @param variables environment variables of the processes, beside those of this one
     */
    CompilerProcesses(
            DeviceSelection device,
            Collection<Geometry> geometries,
            Duration openLimit,
            Duration limit,
            Path directory,
            Map<String, String> variables)
            throws ConfigException, InterruptedException {
        this.openLimit = openLimit;
        this.limit = limit;
        this.directory = directory;
        this.variables = variables;
        arguments.add(device.backend().map(Backend::path).orElse(""));
        arguments.add(device.device());
        geometries.forEach(geometry -> arguments.add(geometry.toString()));
        Worker first;
        try {
            first = startWorker();
        } catch (CompilerProcessException e) {
            throw new CommandFailedException(
                    "the device cannot be opened, nothing was compiled: " + e.getMessage());
        }
        this.target = first.target;
        idle.push(first);
    }

    @Override
    public Target target() {
        return target;
    }

    @Override
    public CompiledProgram create(KernelDescriptor descriptor) throws CompileException {
        return compile(descriptor, KernelBinaries.none());
    }

    /** Compiles for Level Zero in two steps, of which the first needs no driver. */
    @Override
    public CompiledProgram create(KernelDescriptor descriptor, StepProvider steps)
            throws CompileException {
        return target.backend().equals(Backend.LEVEL_ZERO)
                ? frontEnd.compile(
                        descriptor,
                        steps,
                        module -> compile(descriptor, KernelBinaries.ofSegments(List.of(module))))
                : create(descriptor);
    }

    private CompiledProgram compile(KernelDescriptor descriptor, KernelBinaries intermediate)
            throws CompileException {
        try {
            return program(Request.COMPILE, descriptor, intermediate);
        } catch (CompilerProcessException e) {
            throw e.asCompileException();
        } catch (RestoreException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public CompiledProgram create(
            KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        if (kind != BinaryKind.KERNEL || binaries.isEmpty()) {
            throw new RestoreException(
                    descriptor.name() + ": there are no binaries of kind " + kind);
        }
        try {
            return program(Request.RESTORE, descriptor, binaries);
        } catch (CompilerProcessException | CompileException e) {
            throw new RestoreException(descriptor.name() + ": " + e.getMessage());
        }
    }

    /** Returns the program that a process compiles or restores. */
    private CompiledProgram program(
            Request request, KernelDescriptor descriptor, KernelBinaries stored)
            throws CompilerProcessException, CompileException, RestoreException {
        try {
            Worker worker = acquire();
            try {
                worker.files.writeRequest(descriptor, stored);
                worker.send(request);
                Response response = worker.await(limit, CompilerProcessException.overdue(limit));
                return switch (response.outcome()) {
                    case COMPILED, RESTORED, RECOMPILED -> {
                        CompiledProgram program = program(descriptor, response, worker.files);
                        requireCompatible(target, program.binaries());
                        yield program;
                    }
                    case COMPILE_FAILED -> {
                        String[] failure = response.text().split("\n", 2);
                        throw new CompileException(failure[0], failure[1]);
                    }
                    case MISSING_KERNEL -> throw RestoreException.missingKernel(response.text());
                    default -> {
                        if (request == Request.RESTORE) {
                            throw new RestoreException(response.text());
                        }
                        throw new IllegalStateException(response.text());
                    }
                };
            } finally {
                if (worker.isIdle && worker.programs < MAX_PROGRAMS) {
                    idle.push(worker);
                } else {
                    worker.close(0);
                }
            }
        } catch (IOException e) {
            throw crashed("files for the compiler process cannot be used: " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw crashed("the command was interrupted");
        }
    }

    private static CompilerProcessException crashed(String cause) {
        return new CompilerProcessException(Kind.CRASHED, cause);
    }

    private static CompiledProgram program(
            KernelDescriptor descriptor, Response response, CompilerFiles files)
            throws IOException {
        Entry entry = files.read();
        EntryMetadata metadata = entry.metadata().orElseThrow();
        return new CompiledProgram(
                descriptor,
                Origin.valueOf(response.outcome().name()),
                entry.binaries(),
                entry.compileTime(),
                metadata.kernels(),
                metadata.geometries());
    }

    /** Refuses a compiled binary that its target cannot load: it must not be published. */
    static void requireCompatible(Target target, KernelBinaries binaries)
            throws CompilerProcessException {
        if (CompatibilityChecker.check(target, binaries)
                instanceof BinaryCompatibility.Incompatible(String reason)) {
            throw new CompilerProcessException(
                    Kind.INCOMPATIBLE, "the compiled binary is not for this device: " + reason);
        }
    }

    private Worker startWorker()
            throws CompilerProcessException, ConfigException, InterruptedException {
        Worker worker;
        try {
            worker = new Worker(Files.createTempDirectory(directory, "process-"));
        } catch (IOException e) {
            throw crashed("the compiler process cannot be started: " + e.getMessage());
        }
        try {
            Response response = worker.await(
                    openLimit,
                    new CompilerProcessException(
                            Kind.TIMED_OUT,
                            "the driver did not open the device within " + openLimit.toSeconds()
                                    + " s and was killed"));
            if (response.outcome() == Outcome.MISUSED) {
                throw new ConfigException(response.text());
            }
            if (response.outcome() != Outcome.OPENED) {
                throw new CommandFailedException(response.text());
            }
            String[] parts = response.text().split("\n", -1);
            worker.target = new Target(
                    Backend.ofPath(parts[0]).orElseThrow(), parts[1], parts[2], parts[3]);
            return worker;
        } catch (Exception e) {
            worker.close(0);
            throw e;
        }
    }

    /** Returns an idle process, or a new one. A process that failed is not used again. */
    private Worker acquire() throws CompilerProcessException, InterruptedException {
        for (Worker free = idle.poll(); free != null; free = idle.poll()) {
            if (free.process.isAlive()) {
                return free;
            }
            free.close(0); // killed while it was idle, which is no failure of the next program
        }
        try {
            Worker worker = startWorker();
            if (!target.equals(worker.target)) {
                worker.close(0);
                throw crashed("another process found another device: " + worker.target);
            }
            return worker;
        } catch (CommandFailedException | ConfigException e) {
            throw crashed(String.valueOf(e.getMessage()));
        }
    }

    /** Ends all processes. To be called when no thread uses the engine. */
    @Override
    public void close() {
        idle.forEach(Worker::finish);
        for (Worker worker = idle.poll(); worker != null; worker = idle.poll()) {
            worker.close(END_SECONDS);
        }
    }

    /**
     * Returns one line with the cause of the end of a process, from its exit code and last lines.
     *
     * @param exitCode the exit code; 128 more than the signal if one ended the process
     */
    static String causeOfDeath(int exitCode, List<String> lines) {
        int signal = exitCode - SIGNAL_BASE;
        if (signal == SIGKILL) {
            return "the compiler process was killed by signal 9 (SIGKILL), as the system does when"
                    + " memory is short; if so, use fewer --jobs";
        }
        String end = signal > 0 && signal <= MAX_SIGNAL
                ? "the compiler process was killed by signal " + signal
                        + (SIGNALS.containsKey(signal) ? " (" + SIGNALS.get(signal) + ")" : "")
                : "the compiler process ended with exit code " + exitCode;
        return jvmCrash(lines)
                .map(crash -> "the compiler crashed: " + crash)
                .orElseGet(() ->
                        lines.isEmpty() ? end : end + ": " + lines.getLast().strip());
    }

    /** Returns signal and place of a crash that the JVM has reported; empty if it has not. */
    private static Optional<String> jvmCrash(List<String> lines) {
        Optional<String> signal =
                lines.stream().filter(line -> line.startsWith("#  SIG")).findFirst();
        Optional<String> frame = lines.stream()
                .filter(line -> line.matches("# [CVJjv]  ?\\[?.+"))
                .findFirst();
        return signal.map(line ->
                oneLine(line) + frame.map(where -> ", in " + oneLine(where)).orElse(""));
    }

    private static String oneLine(String line) {
        return line.substring(1).strip().replaceAll("\\s+", " ");
    }

    /**
     * A running compiler process, used by one thread at a time. Its output is read continuously,
     * and its last lines are kept: they show why it ended.
     */
    private final class Worker {
        private static final String ENDED = "";

        private final CompilerFiles files;
        private final Process process;
        private final Writer requests;
        private final String token = UUID.randomUUID().toString();
        private final BlockingQueue<String> events = new LinkedBlockingQueue<>(); // outcomes
        private final Deque<String> lastLines = new ConcurrentLinkedDeque<>();
        private Target target = new Target(Backend.OPENCL, "none", "none", "none"); // until opened
        private boolean isIdle; // it has responded to the last request
        private int programs;

        /** Starts a process with an empty directory, which no other process uses. */
        Worker(Path own) throws IOException {
            this.files = new CompilerFiles(own);
            List<String> command = new ArrayList<>();
            command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
            command.addAll(List.of(
                    "-XX:TieredStopAtLevel=1",
                    "-XX:-CreateCoredumpOnCrash",
                    "-XX:ErrorFile=" + own.resolve("jvm-crash.log")));
            command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
            command.addAll(List.of(
                    "-cp",
                    System.getProperty("java.class.path"),
                    CompilerMain.class.getName(),
                    token,
                    own.toString()));
            command.addAll(arguments);
            ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
            builder.environment().putAll(variables);
            this.process = builder.start();
            this.requests = process.outputWriter(UTF_8);
            Thread.ofPlatform().daemon().name("granary-compiler-output").start(this::readOutput);
        }

        private void readOutput() {
            try (BufferedReader lines = process.inputReader(UTF_8)) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    if (line.startsWith(token)) {
                        events.add(line.substring(token.length()));
                    } else if (!line.isBlank()) {
                        lastLines.add(line.substring(0, Math.min(line.length(), KEPT_CHARACTERS)));
                        if (lastLines.size() > KEPT_LINES) {
                            lastLines.poll();
                        }
                    }
                }
            } catch (IOException e) {
                // closed by its end
            } finally {
                events.add(ENDED);
            }
        }

        void send(Request request) {
            isIdle = false;
            programs++;
            lastLines.clear();
            try {
                requests.write(request + "\n");
                requests.flush();
            } catch (IOException e) {
                // it has ended, which the next event shows
            }
        }

        /**
         * Waits for the response. After an exception the process is of no use, and must be closed.
         *
         * @param overdue thrown if the process does not respond within the limit
         */
        Response await(Duration limit, CompilerProcessException overdue)
                throws CompilerProcessException, InterruptedException {
            String event = events.poll(limit.toMillis(), TimeUnit.MILLISECONDS);
            if (event == null) {
                throw overdue;
            }
            if (event.equals(ENDED)) {
                if (TemporaryDirectory.isTerminating()) {
                    Thread.sleep(Long.MAX_VALUE); // killed by this process, which ends too
                }
                process.waitFor(END_SECONDS, TimeUnit.SECONDS);
                throw crashed(causeOfDeath(
                        process.isAlive() ? 0 : process.exitValue(), List.copyOf(lastLines)));
            }
            try {
                Response response = Response.parse(event);
                isIdle = true;
                return response;
            } catch (IllegalArgumentException | ArrayIndexOutOfBoundsException e) {
                // the driver has printed into the line
                throw crashed("the response of the compiler process cannot be read: " + e);
            }
        }

        /** Ends the input of the process, which ends at once if it is idle. */
        void finish() {
            try {
                requests.close();
            } catch (IOException e) {
                // it has ended
            }
        }

        /** Waits for the end of the process, then kills it and waits a short time for its end. */
        void close(long seconds) {
            try {
                if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
                    process.destroyForcibly().waitFor(END_SECONDS, TimeUnit.SECONDS);
                }
            } catch (InterruptedException e) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
            }
        }
    }
}
