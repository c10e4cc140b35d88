package dev.granary.cli.compiler;

import dev.granary.cache.Backend;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cli.compiler.CompilerProcessException.Kind;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.process.TemporaryDirectory;
import dev.granary.gpu.Geometry;

import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A pool of compiler processes for one device. A request takes an idle process, or starts one. A
 * process that failed is not used again. Thread-safe.
 */
final class CompilerProcessPool implements AutoCloseable {
    private final TemporaryDirectory directory;
    private final CompilerRequest.Open open;
    private final Duration openLimit;
    private final Duration limit;
    private final Deque<CompilerProcess> idle = new ConcurrentLinkedDeque<>();
    private final AtomicInteger started = new AtomicInteger();
    private final Target target;

    private CompilerProcessPool(
            TemporaryDirectory directory,
            CompilerRequest.Open open,
            Duration openLimit,
            Duration limit)
            throws CompilerProcessException, CommandFailedException, UsageException,
                    InterruptedException {
        this.directory = directory;
        this.open = open;
        this.openLimit = openLimit;
        this.limit = limit;
        Opened first = openProcess();
        this.target = first.target();
        idle.push(first.process());
    }

    /** A process with its device. */
    private record Opened(CompilerProcess process, Target target) {}

    /** A response and its binaries. */
    record Transfer(CompilerResponse response, KernelBinaries binaries) {}

    /** Writer of a request to a process, and of the files that the request names. */
    @FunctionalInterface
    interface RequestWriter {
        Record write(CompilerProcess process) throws IOException;
    }

    /**
     * Starts the first process, which finds the device.
     *
     * @param geometries the geometries of all launches that are known; binaries cover them
     * @param openLimit the longest time until a process has opened the device
     * @param limit the longest time of one request
     * @throws CommandFailedException if the device cannot be opened, or no process can be started
     * @throws UsageException if no device is selected, or several
     */
    static CompilerProcessPool start(
            DeviceSelection device,
            Collection<Geometry> geometries,
            Duration openLimit,
            Duration limit)
            throws CommandFailedException, UsageException, IOException, InterruptedException {
        TemporaryDirectory directory = new TemporaryDirectory("granary-compile-");
        try {
            return new CompilerProcessPool(
                    directory,
                    new CompilerRequest.Open(
                            device.backend().map(Backend::path).orElse(""),
                            device.device(),
                            geometries.stream()
                                    .map(geometry -> new ProgramMessage.LaunchMessage(
                                            "", geometry.global(), geometry.local()))
                                    .toList()),
                    openLimit,
                    limit);
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

    private Opened openProcess()
            throws CompilerProcessException, CommandFailedException, UsageException,
                    InterruptedException {
        CompilerProcess process;
        try {
            process = new CompilerProcess(
                    directory.path().resolve("process-" + started.incrementAndGet()));
        } catch (IOException e) {
            throw new CompilerProcessException(
                    Kind.CRASHED, "the compiler process cannot be started: " + e.getMessage());
        }
        try {
            switch (process.request(open, openLimit)) {
                case CompilerResponse.Opened(
                        String backend,
                        String vendor,
                        String device,
                        String driver) -> {
                    return new Opened(
                            process, new Target(Backend.valueOf(backend), vendor, device, driver));
                }
                case CompilerResponse.Misused misused -> {
                    process.close();
                    throw new UsageException(misused.cause());
                }
                case CompilerResponse.Failed failed -> {
                    process.close();
                    throw new CommandFailedException(failed.cause());
                }
                case CompilerResponse other -> throw unexpected(other);
            }
        } catch (CompilerProcessException | InterruptedException | RuntimeException e) {
            process.close();
            throw e;
        }
    }

    /** Returns the error of a response that does not belong to its request. */
    static IllegalStateException unexpected(CompilerResponse response) {
        return new IllegalStateException("unexpected response of a compiler process: " + response);
    }

    /** Returns the target of the device. */
    Target target() {
        return target;
    }

    /**
     * Sends a request to a process, and reads the binaries of its response.
     *
     * @throws CompilerProcessException if no process can be started, or if it ends or does not
     *     respond within the limit
     */
    Transfer request(RequestWriter writer) throws CompilerProcessException {
        try {
            CompilerProcess process = acquire();
            boolean isUsable = false;
            try {
                CompilerResponse response = process.request(writer.write(process), limit);
                KernelBinaries binaries = response instanceof CompilerResponse.Built built
                        ? process.read(built.binaries())
                        : KernelBinaries.none();
                isUsable = true;
                return new Transfer(response, binaries);
            } finally {
                if (isUsable) {
                    idle.push(process);
                } else {
                    process.close();
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
    private CompilerProcess acquire() throws CompilerProcessException, InterruptedException {
        for (CompilerProcess free = idle.poll(); free != null; free = idle.poll()) {
            if (free.isAlive()) {
                return free;
            }
            free.close(); // killed while it was idle, which is no failure of the next program
        }
        try {
            Opened opened = openProcess();
            if (!opened.target().equals(target)) {
                opened.process().close();
                throw new CompilerProcessException(
                        Kind.CRASHED,
                        "another process found another device: "
                                + opened.target().name());
            }
            return opened.process();
        } catch (CommandFailedException | UsageException e) {
            throw new CompilerProcessException(Kind.CRASHED, String.valueOf(e.getMessage()));
        }
    }

    /** Ends all processes and deletes their files. To be called when no request is under way. */
    @Override
    public void close() {
        idle.forEach(CompilerProcess::finish);
        for (CompilerProcess process = idle.poll(); process != null; process = idle.poll()) {
            process.awaitEnd();
        }
        try {
            directory.close();
        } catch (IOException e) {
            // the rest stays among the system's temporary files
        }
    }
}
