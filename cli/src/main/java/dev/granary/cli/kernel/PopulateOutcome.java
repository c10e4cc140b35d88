package dev.granary.cli.kernel;

import java.util.Locale;

/** The outcome of {@code populate} for one kernel. Each kernel has exactly one. */
enum PopulateOutcome {
    /** Compiled now, and read back from the bucket. */
    COMPILED(true),
    /** Restored from the directory or another bucket, uploaded now, and read back. */
    RESTORED(true),
    /** Read back from the bucket, which had it before. */
    PRESENT(true),
    /** The same program as an earlier kernel, and read back from the bucket. */
    SAME_AS_ANOTHER(true),
    /** A source or an included file cannot be read. */
    UNREADABLE(false),
    /** The compiler refuses the program. */
    FAILED_TO_COMPILE(false),
    /** The process of the compiler ended. */
    CRASHED(false),
    /** The compiler did not end within its limit, and was killed. */
    TIMED_OUT(false),
    /** The compiled binary is not for the target, and was not published. */
    INCOMPATIBLE(false),
    /** Granary is at fault, not the kernel. */
    INTERNAL_ERROR(false),
    /** The id cannot cover all inputs. */
    NOT_CACHEABLE(false),
    /** The bucket has not confirmed it. */
    NOT_STORED(false),
    /** The bucket has confirmed it, but it cannot be read back. */
    NOT_READ_BACK(false);

    private final boolean isSuccess;

    PopulateOutcome(boolean isSuccess) {
        this.isSuccess = isSuccess;
    }

    /** Returns true if a process with an empty directory can read the kernel from the bucket. */
    boolean isSuccess() {
        return isSuccess;
    }

    /** Returns the words for people, such as {@code failed to compile}. */
    String words() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    /** Returns the name for machines, such as {@code failed-to-compile}. */
    String key() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
