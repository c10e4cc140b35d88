package dev.granary.gpu.opencl.binding;

/**
 * All native calls of OpenCL, by subject, with status checks: a failure throws an exception with
 * call and code. Handles are {@code long} and never 0. Thread-safe.
 *
 * @param devices calls for platforms, devices and contexts
 * @param programs calls for programs and kernels
 * @param memory calls for buffers and transfers
 * @param queues calls for queues, launches and events
 */
public record ClBinding(
        DeviceCalls devices, ProgramCalls programs, MemoryCalls memory, QueueCalls queues) {
    /** Returns the calls of the loaded library, whose failures are exceptions of that factory. */
    public static ClBinding failingWith(CallFailure failure) {
        return new ClBinding(
                new DeviceCalls(failure),
                new ProgramCalls(failure),
                new MemoryCalls(failure),
                new QueueCalls(failure));
    }
}
