package dev.granary.gpu.composite;

/**
 * The body of an execution of a composite primitive: launches of its kernels and executions of its
 * nested primitives. Immutable, shared between threads, and without state of an execution.
 */
@FunctionalInterface
public interface ExecutionBody {
    /** Runs once and waits for completion. */
    void run(ExecutionContext execution);
}
