package dev.granary.gpu.composite;

/**
 * What an execution of a composite primitive does: launches of its kernels, executions of its nested primitives. Immutable and shared between
 * threads; it keeps nothing of an execution.
 */
@FunctionalInterface
public interface ExecutionBody {
    /** Runs them once, to the end. */
    void run(ExecutionContext execution);
}
