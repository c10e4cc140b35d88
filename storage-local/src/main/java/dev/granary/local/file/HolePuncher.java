package dev.granary.local.file;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.FileSystemException;
import java.nio.file.Path;

/**
 * Reclaimer of ranges within a file, by fallocate(2) of Linux. It is unavailable on other systems,
 * on some file systems, and in a JVM started without {@code --enable-native-access}. A sweep then
 * copies live entries out of their segments instead.
 */
public final class HolePuncher implements AutoCloseable {
    private static final int READ_WRITE = 2;
    private static final int CLOSE_ON_EXEC = 0x80000;
    private static final int KEEP_SIZE_AND_PUNCH = 3;

    private final int descriptor;
    private final Path file;

    private HolePuncher(int descriptor, Path file) {
        this.descriptor = descriptor;
        this.file = file;
    }

    /** The native functions, linked when the first hole is punched. */
    private static final class Native {
        static final MethodHandle OPEN;
        static final MethodHandle FALLOCATE;
        static final MethodHandle CLOSE;

        static {
            Linker linker = Linker.nativeLinker();
            OPEN = linker.downcallHandle(
                    find(linker, "open"),
                    FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT),
                    Linker.Option.firstVariadicArg(2));
            FALLOCATE = linker.downcallHandle(
                    find(linker, "fallocate"),
                    FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
            CLOSE = linker.downcallHandle(
                    find(linker, "close"), FunctionDescriptor.of(JAVA_INT, JAVA_INT));
        }

        private Native() {}

        private static MemorySegment find(Linker linker, String name) {
            return linker.defaultLookup()
                    .find(name)
                    .orElseThrow(() -> new UnsupportedOperationException("no " + name));
        }
    }

    /**
     * Returns whether punching may work. Requests no native access: without it the JVM would print
     * a warning, or throw.
     */
    public static boolean isPossible() {
        return System.getProperty("os.name").equals("Linux")
                && HolePuncher.class.getModule().isNativeAccessEnabled();
    }

    /**
     * Opens a file for punching.
     *
     * @throws FileSystemException if this file cannot be opened; other files may be
     */
    static HolePuncher on(Path file) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            int descriptor = (int) Native.OPEN.invokeExact(
                    arena.allocateFrom(file.toString()), READ_WRITE | CLOSE_ON_EXEC, 0);
            if (descriptor < 0) {
                throw new FileSystemException(file.toString(), null, "open(2) failed");
            }
            return new HolePuncher(descriptor, file);
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Reclaims a range, which then reads as zeros. */
    void punch(long offset, long length) throws IOException {
        try {
            if ((int) Native.FALLOCATE.invokeExact(descriptor, KEEP_SIZE_AND_PUNCH, offset, length)
                    != 0) {
                throw new IOException("fallocate(2) failed to punch a hole into " + file);
            }
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        try {
            int _ = (int) Native.CLOSE.invokeExact(descriptor);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
