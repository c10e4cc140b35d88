package dev.granary.coordinator.recording;

import dev.granary.cache.Deadline;
import dev.granary.cache.Id;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.support.TaskQueue;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.gpu.KernelDescriptor;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Recorder of the kernels of this process in a {@link RecordingFile}. A lookup hands over its
 * descriptor, once for each id; a background thread writes. A failure is logged once and counted,
 * and the next write tries again. Thread-safe.
 */
public final class KernelRecorder implements AutoCloseable {
    /**
     * The longest wait for the last write at the end. It lasts that long only for thousands of
     * kernels that were obtained at once, or on a disk that hardly answers.
     */
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(30);

    /** The largest number of kernels that await a write, if writes fail. */
    static final int MAX_UNWRITTEN = 10_000;

    private final RecordingFile file;
    private final Counters counters;
    // hashes of ids, and comments on kernels that have none
    private final Set<Object> seen = ConcurrentHashMap.newKeySet();
    private final Queue<PrimitiveDescriptor> unwritten = new ArrayBlockingQueue<>(MAX_UNWRITTEN);
    private final AtomicBoolean isScheduled = new AtomicBoolean();
    private final TaskQueue writes = new TaskQueue("granary-recorder", 1, 2);

    /** Creates a recorder. The process writes nothing before the first kernel. */
    public KernelRecorder(Path file, Counters counters) {
        this.file = new RecordingFile(file);
        this.counters = counters;
    }

    /** Checks that the recording that {@code config} names, if any, can be written. */
    public static void check(GranaryConfig config) throws ConfigException {
        if (config.recording().isEmpty()) {
            return;
        }
        Path file = config.recording().get();
        try {
            new RecordingFile(file).check();
        } catch (IOException e) {
            throw new ConfigException("The recording " + file + " cannot be written: "
                    + e.getMessage() + ", or unset GRANARY_RECORD.");
        }
    }

    /** Records the kernel of {@code descriptor}, unless it was recorded before. Never throws. */
    public void record(PrimitiveDescriptor descriptor) {
        try {
            Id id = descriptor.getId();
            Object key = id.isEmpty() ? descriptor.name() + ": " + id.reason() : id.hash();
            if (!seen.contains(key)) {
                add(key, descriptor);
            }
        } catch (Throwable e) { // an error too: the caller has its primitive
            failed(e.toString());
        }
    }

    /** Adds a kernel; if there are too many, it is recorded when it is obtained again. */
    private void add(Object key, PrimitiveDescriptor descriptor) {
        if (seen.add(key) && !unwritten.offer(descriptor)) {
            seen.remove(key);
            failed("more than " + MAX_UNWRITTEN + " kernels are not written yet");
        }
        scheduleWrite();
    }

    private void scheduleWrite() {
        if (isScheduled.compareAndSet(false, true) && !writes.submit(this::write)) {
            isScheduled.set(false);
            failed("no thread could be started, or the recorder is closed");
        }
    }

    /** Writes all kernels that were recorded so far. */
    private void write() {
        try {
            isScheduled.set(false); // before reading: a later kernel schedules the next write
            List<PrimitiveDescriptor> batch = List.copyOf(unwritten);
            List<KernelDescriptor> kernels = new ArrayList<>();
            List<String> comments = new ArrayList<>();
            for (PrimitiveDescriptor descriptor : batch) {
                if (descriptor.getId().isEmpty()) {
                    comments.add(comment(descriptor, descriptor.getId().reason()));
                } else if (!(descriptor instanceof KernelDescriptor kernel)) {
                    comments.add(comment(
                            descriptor, "it is a descriptor of the application, without sources"));
                } else {
                    kernels.add(kernel);
                }
            }
            counters.add(Counter.RECORDED, file.add(kernels, comments));
            batch.forEach(_ -> unwritten.remove()); // only this thread removes
        } catch (Throwable e) { // an error too: it must not end this thread
            failed(e.toString());
        }
    }

    private static String comment(PrimitiveDescriptor descriptor, String reason) {
        return "Not recorded: " + descriptor.name() + ": " + reason;
    }

    private void failed(String cause) {
        counters.increment(Counter.RECORD_FAILURES);
        Warnings.warn("record", "Kernels could not be recorded: " + cause);
    }

    /**
     * Waits until all kernels are written or the last write has failed, or until the deadline.
     *
     * @return true if no write is in progress
     */
    public boolean flush(Deadline deadline) throws InterruptedException {
        return writes.awaitIdle(deadline);
    }

    /** Writes what is not written yet, for at most 30 seconds. */
    public void finish() {
        try {
            if (!unwritten.isEmpty()) { // the last write failed, or is in progress
                scheduleWrite();
            }
            flush(Deadline.after(CLOSE_LIMIT));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** {@linkplain #finish Finishes}; later kernels are not recorded. */
    @Override
    public void close() {
        finish();
        writes.drain();
    }
}
