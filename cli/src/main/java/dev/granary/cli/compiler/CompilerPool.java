package dev.granary.cli.compiler;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cli.compiler.CompilerFiles.Outcome;
import dev.granary.cli.compiler.CompilerFiles.Request;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.UsageException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.offline.CompilerProcessException;
import dev.granary.gpu.offline.CompilerProcessException.Kind;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A pool of compiler processes for one device. A request takes an idle process, or starts one. A
 * process that failed is not used again. Thread-safe.
 */
final class CompilerPool implements AutoCloseable {
    private static final int KEPT_LINES = 100;
    private static final int KEPT_CHARACTERS = 500;
    private static final long END_SECONDS = 2;

    private final TemporaryDirectory directory = new TemporaryDirectory("granary-compile-");
    private final List<String> arguments = new ArrayList<>();
    private final Duration openLimit;
    private final Duration limit;
    private final Deque<Worker> idle = new ConcurrentLinkedDeque<>();
    private final AtomicInteger started = new AtomicInteger();
    private final Target target;

    /**
     * Starts the first process, which finds the device.
     *
     * @param geometries the geometries of all launches that are known; binaries cover them
     * @param openLimit the longest time until a process has opened the device
     * @param limit the longest time of one request
     * @throws CommandFailedException if the device cannot be opened, or no process can be started
     * @throws UsageException if no device is selected, or several
     */
    CompilerPool(
            DeviceSelection device,
            Collection<Geometry> geometries,
            Duration openLimit,
            Duration limit)
            throws CommandFailedException, UsageException, IOException, InterruptedException {
        this.openLimit = openLimit;
        this.limit = limit;
        arguments.add(device.backend().map(Backend::path).orElse(""));
        arguments.add(device.device());
        geometries.forEach(geometry -> arguments.add(geometry.toString()));
        try {
            Worker first = start();
            this.target = first.target;
            idle.push(first);
        } catch (CompilerProcessException e) {
            directory.close();
            throw new CommandFailedException(
                    "the device cannot be opened, nothing was compiled: " + e.getMessage());
        } catch (CommandFailedException
                | UsageException
                | InterruptedException
                | RuntimeException e) {
            directory.close();
            throw e;
        }
    }

    /**
     * The response to a request.
     *
     * @param entry the program; empty if the request failed
     * @param failure a message, and the build log behind its first line
     */
    record Response(Outcome outcome, Optional<Entry> entry, String failure) {}

    private Worker start()
            throws CompilerProcessException, CommandFailedException, UsageException,
                    InterruptedException {
        Worker worker;
        try {
            worker = new Worker(directory.path().resolve("process-" + started.incrementAndGet()));
        } catch (IOException e) {
            throw new CompilerProcessException(
                    Kind.CRASHED, "the compiler process cannot be started: " + e.getMessage());
        }
        try {
            Response response = worker.await(
                    openLimit,
                    new CompilerProcessException(
                            Kind.TIMED_OUT,
                            "the driver did not open the device within " + openLimit.toSeconds()
                                    + " s and was killed"));
            return switch (response.outcome()) {
                case OPENED -> {
                    worker.target = response.entry().orElseThrow().id().target();
                    yield worker;
                }
                case MISUSED -> throw new UsageException(response.failure());
                default -> throw new CommandFailedException(response.failure());
            };
        } catch (CompilerProcessException
                | CommandFailedException
                | UsageException
                | InterruptedException
                | RuntimeException e) {
            worker.close();
            throw e;
        }
    }

    /** Returns the target of the device. */
    Target target() {
        return target;
    }

    /**
     * Sends a request to a process.
     *
     * @param stored the binaries of the request; may be none
     * @throws CompilerProcessException if no process can be started, or if it ends or does not
     *     respond within the limit
     */
    Response request(Request request, KernelDescriptor kernel, KernelBinaries stored)
            throws CompilerProcessException {
        try {
            Worker worker = acquire();
            boolean isUsable = false;
            try {
                worker.files.writeRequest(kernel, stored);
                worker.send(request);
                Response response = worker.await(limit, CompilerProcessException.overdue(limit));
                isUsable = true;
                return response;
            } finally {
                if (isUsable) {
                    idle.push(worker);
                } else {
                    worker.close();
                }
            }
        } catch (IOException e) {
            throw new CompilerProcessException(
                    Kind.CRASHED, "files for the compiler process cannot be used: " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CompilerProcessException(Kind.CRASHED, "the command was interrupted");
        }
    }

    /** Returns an idle process, or a new one. */
    private Worker acquire() throws CompilerProcessException, InterruptedException {
        for (Worker free = idle.poll(); free != null; free = idle.poll()) {
            if (free.process.isAlive()) {
                return free;
            }
            free.close(); // killed while it was idle, which is no failure of the next program
        }
        try {
            Worker worker = start();
            if (!target.equals(worker.target)) {
                worker.close();
                throw new CompilerProcessException(
                        Kind.CRASHED, "another process found another device: " + worker.target);
            }
            return worker;
        } catch (CommandFailedException | UsageException e) {
            throw new CompilerProcessException(Kind.CRASHED, String.valueOf(e.getMessage()));
        }
    }

    /** Ends all processes and deletes their files. To be called when no request is under way. */
    @Override
    public void close() {
        idle.forEach(Worker::finish);
        for (Worker worker = idle.poll(); worker != null; worker = idle.poll()) {
            worker.awaitEnd();
        }
        try {
            directory.close();
        } catch (IOException e) {
            // the rest stays among the system's temporary files
        }
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
        private final Deque<String> lastLines = new ArrayDeque<>(); // guarded by itself
        private Target target = new Target(Backend.OPENCL, "none", "none", "none"); // until opened

        /** Starts a process with a new directory, which no other process uses. */
        Worker(Path own) throws IOException {
            this.files = new CompilerFiles(Files.createDirectory(own));
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
            this.process = new ProcessBuilder(command).redirectErrorStream(true).start();
            this.requests = process.outputWriter(UTF_8);
            Thread.ofPlatform().daemon().name("granary-compiler-output").start(this::readOutput);
        }

        private void readOutput() {
            try (BufferedReader lines = process.inputReader(UTF_8)) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    if (line.startsWith(token)) {
                        events.add(line.substring(token.length()));
                    } else if (!line.isBlank()) {
                        keep(line);
                    }
                }
            } catch (IOException e) {
                // closed by its end
            } finally {
                events.add(ENDED);
            }
        }

        private void keep(String line) {
            synchronized (lastLines) {
                lastLines.add(line.substring(0, Math.min(line.length(), KEPT_CHARACTERS)));
                if (lastLines.size() > KEPT_LINES) {
                    lastLines.remove();
                }
            }
        }

        void send(Request request) {
            synchronized (lastLines) {
                lastLines.clear();
            }
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
         * @throws CompilerProcessException if the process ends, or does not respond
         */
        Response await(Duration limit, CompilerProcessException overdue)
                throws CompilerProcessException, InterruptedException {
            String event = events.poll(limit.toMillis(), TimeUnit.MILLISECONDS);
            if (event == null) {
                throw overdue;
            }
            if (event.equals(ENDED)) {
                process.waitFor(END_SECONDS, TimeUnit.SECONDS);
                synchronized (lastLines) {
                    throw new CompilerProcessException(
                            Kind.CRASHED,
                            CompilerDeath.cause(
                                    process.isAlive() ? 0 : process.exitValue(),
                                    List.copyOf(lastLines)));
                }
            }
            try {
                Outcome outcome = Outcome.valueOf(event);
                return outcome.hasEntry()
                        ? new Response(outcome, Optional.of(files.response()), "")
                        : new Response(outcome, Optional.empty(), files.failure());
            } catch (IOException | IllegalArgumentException e) {
                throw new CompilerProcessException(
                        Kind.CRASHED, "the response of the compiler process cannot be read: " + e);
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

        /** Kills the process, if it has not ended, and waits a short time for its end. */
        void close() {
            try {
                if (!process.waitFor(0, TimeUnit.SECONDS)) {
                    process.destroyForcibly().waitFor(END_SECONDS, TimeUnit.SECONDS);
                }
            } catch (InterruptedException e) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
            }
        }

        /** Waits for the end of a process whose input has ended, then closes it. */
        void awaitEnd() {
            try {
                process.waitFor(END_SECONDS, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            close();
        }
    }
}
