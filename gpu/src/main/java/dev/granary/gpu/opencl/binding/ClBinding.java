package dev.granary.gpu.opencl.binding;

/**
 * All native calls of OpenCL, by subject, with status checks: a failure throws a
 * {@link dev.granary.gpu.DriverException} with call and code. Handles are {@code long} and never 0.
 * Thread-safe.
 *
 * @param devices calls for platforms, devices and contexts
 * @param programs calls for programs and kernels
 * @param memory calls for buffers and transfers
 * @param queues calls for queues, launches and events
 */
public record ClBinding(
        DeviceCalls devices, ProgramCalls programs, MemoryCalls memory, QueueCalls queues) {
    /** The calls of the loaded library. */
    public static final ClBinding LIBRARY = new ClBinding(
            new DeviceCalls(), new ProgramCalls(), new MemoryCalls(), new QueueCalls());
}
