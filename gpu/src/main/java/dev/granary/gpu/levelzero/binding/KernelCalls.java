package dev.granary.gpu.levelzero.binding;

import static dev.granary.gpu.levelzero.binding.ZeLibrary.POINTER;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The calls about kernels, their arguments and the size of their groups. */
public final class KernelCalls {
    private static final int KERNEL_DESC = 0x1d;
    private static final int KERNEL_PROPERTIES = 0x1e;

    private final MethodHandle create;
    private final MethodHandle destroy;
    private final MethodHandle properties;
    private final MethodHandle setGroupSize;
    private final MethodHandle suggestGroupSize;
    private final MethodHandle setArgument;

    /** Finds the functions in the loader. */
    public KernelCalls(ZeLibrary library) {
        create = library.function("zeKernelCreate", POINTER, POINTER, POINTER);
        destroy = library.function("zeKernelDestroy", POINTER);
        properties = library.function("zeKernelGetProperties", POINTER, POINTER);
        setGroupSize =
                library.function("zeKernelSetGroupSize", POINTER, JAVA_INT, JAVA_INT, JAVA_INT);
        suggestGroupSize = library.function(
                "zeKernelSuggestGroupSize",
                POINTER,
                JAVA_INT,
                JAVA_INT,
                JAVA_INT,
                POINTER,
                POINTER,
                POINTER);
        setArgument =
                library.function("zeKernelSetArgumentValue", POINTER, JAVA_INT, POINTER, POINTER);
    }

    /** Creates the kernel of that name. */
    public long create(long module, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment description = arena.allocate(32, 8);
            description.set(JAVA_INT, 0, KERNEL_DESC);
            description.set(JAVA_LONG, 24, arena.allocateFrom(name).address());
            return ZeLibrary.create("zeKernelCreate(" + name + ")", kernel ->
                    (int) create.invokeExact(module, description.address(), kernel));
        }
    }

    /**
     * Destroys a kernel. Its launches must have ended, and no command list that contains one may be
     * executed again.
     */
    public void destroy(long kernel) {
        ZeLibrary.check("zeKernelDestroy", () -> (int) destroy.invokeExact(kernel));
    }

    /** Returns the number of parameters of a kernel. */
    public int parameters(long kernel) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment of = arena.allocate(96, 8);
            of.set(JAVA_INT, 0, KERNEL_PROPERTIES);
            ZeLibrary.check("zeKernelGetProperties", () ->
                    (int) properties.invokeExact(kernel, of.address()));
            return of.get(JAVA_INT, 16);
        }
    }

    /** Sets the number of work-items of a group for the next launches. */
    public void setGroupSize(long kernel, GroupShape size) {
        ZeLibrary.check("zeKernelSetGroupSize", () ->
                (int) setGroupSize.invokeExact(kernel, size.x(), size.y(), size.z()));
    }

    /** Returns the group size that the driver suggests for that many work-items. */
    public GroupShape suggestGroupSize(long kernel, GroupShape global) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment size = arena.allocate(JAVA_INT, 3);
            long at = size.address();
            ZeLibrary.check("zeKernelSuggestGroupSize", () -> (int) suggestGroupSize.invokeExact(
                    kernel, global.x(), global.y(), global.z(), at, at + 4, at + 8));
            return new GroupShape(
                    size.getAtIndex(JAVA_INT, 0),
                    size.getAtIndex(JAVA_INT, 1),
                    size.getAtIndex(JAVA_INT, 2));
        }
    }

    /**
     * Sets an argument.
     *
     * @param bytes the size of the value, or of the local memory
     * @param value the address of the value; 0 for local memory
     */
    public void setArgument(long kernel, int index, long bytes, long value) {
        ZeLibrary.check("zeKernelSetArgumentValue(" + index + ")", () ->
                (int) setArgument.invokeExact(kernel, index, bytes, value));
    }
}
