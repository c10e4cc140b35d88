package dev.granary.local.file;

/**
 * The {@link InternalError} of a read from a mapping whose file was truncated, or whose disk
 * failed.
 *
 * <p>The JVM throws it at the next safepoint poll of the thread. Compiled code may reach that poll
 * after the reading method has returned, and so outside of its {@code try} block. A call to a
 * native method is such a poll.
 */
public final class MappingFault {
    private MappingFault() {}

    /**
     * Throws the pending error of an earlier read by this thread, if there is one. The last
     * statement of a {@code try} block that catches it.
     */
    public static void throwPending() {
        long ignored = Runtime.getRuntime().totalMemory(); // native, some 20 ns
    }
}
