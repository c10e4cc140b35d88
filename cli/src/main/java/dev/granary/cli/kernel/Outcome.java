package dev.granary.cli.kernel;

import dev.granary.cache.CompileException;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.offline.CompilerProcessException;

/**
 * The outcome of a command for one kernel. Each kernel has exactly one, with one word in rows,
 * counts, JSON and JUnit reports; those of success are the words of metrics.
 */
enum Outcome {
    COMPILED(true),
    BUCKET(true),
    /** From the directory. */
    LOCAL(true),
    /** The same program as an earlier kernel. */
    MEMORY(true),
    /** The same program as a kernel that was obtained at the same time. */
    JOINED(true),
    /** A source or an included file cannot be read. */
    UNREADABLE(false),
    FAILED_TO_COMPILE(false),
    CRASHED(false),
    /** The compiler did not end within its limit, and was killed. */
    TIMED_OUT(false),
    /** The compiled binary is not for the target, and was not published. */
    INCOMPATIBLE(false),
    /** Granary is at fault, not the kernel. */
    INTERNAL_ERROR(false),
    /** The id cannot cover all inputs, so nothing was published. */
    NOT_CACHEABLE(false),
    /** The bucket has not confirmed it. */
    NOT_STORED(false),
    /** The bucket has confirmed it, but it cannot be read back. */
    NOT_READ_BACK(false);

    private final boolean isSuccess;

    Outcome(boolean isSuccess) {
        this.isSuccess = isSuccess;
    }

    /** Returns true if the command did for the kernel all that it should. */
    boolean isSuccess() {
        return isSuccess;
    }

    static Outcome of(PrimitiveSource source) {
        return valueOf(source.name());
    }

    static Outcome of(CompileException e) {
        return e.getCause() instanceof CompilerProcessException process
                ? valueOf(process.kind().name())
                : FAILED_TO_COMPILE;
    }

    /** Returns the word, such as {@code timed-out}. */
    @Override
    public String toString() {
        return Units.word(this);
    }
}
