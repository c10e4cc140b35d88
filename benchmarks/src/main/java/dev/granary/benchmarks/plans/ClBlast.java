package dev.granary.benchmarks.plans;

import dev.granary.gpu.opencl.OpenClBuffer;

import org.lwjgl.PointerBuffer;
import org.lwjgl.opencl.CL10;
import org.lwjgl.system.MemoryStack;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/**
 * The matrix product of the library CLBlast, with a queue of its own in the context of a buffer.
 */
final class ClBlast implements AutoCloseable {
    /** The package that has the library, on Debian. */
    static final String PACKAGE = "libclblast1";

    private static final String LIBRARY = "libclblast.so.1";
    private static final int ROW_MAJOR = 101;
    private static final int NOT_TRANSPOSED = 111;

    private final MethodHandle product;
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment queue = arena.allocate(ValueLayout.JAVA_LONG);

    private ClBlast(SymbolLookup library, OpenClBuffer buffer) {
        this.product = Linker.nativeLinker()
                .downcallHandle(
                        library.findOrThrow("CLBlastSgemm"),
                        FunctionDescriptor.of(
                                ValueLayout.JAVA_INT,
                                ValueLayout.JAVA_INT, // layout
                                ValueLayout.JAVA_INT, // of A
                                ValueLayout.JAVA_INT, // of B
                                ValueLayout.JAVA_LONG, // m, n, k
                                ValueLayout.JAVA_LONG,
                                ValueLayout.JAVA_LONG,
                                ValueLayout.JAVA_FLOAT, // alpha
                                ValueLayout.JAVA_LONG, // A, offset, distance of rows
                                ValueLayout.JAVA_LONG,
                                ValueLayout.JAVA_LONG,
                                ValueLayout.JAVA_LONG, // B
                                ValueLayout.JAVA_LONG,
                                ValueLayout.JAVA_LONG,
                                ValueLayout.JAVA_FLOAT, // beta
                                ValueLayout.JAVA_LONG, // C
                                ValueLayout.JAVA_LONG,
                                ValueLayout.JAVA_LONG,
                                ValueLayout.ADDRESS, // queue
                                ValueLayout.ADDRESS)); // event
        queue.set(ValueLayout.JAVA_LONG, 0, createQueue(buffer));
    }

    /** Returns the library for the context of a buffer; empty if it is not installed. */
    static Optional<ClBlast> open(OpenClBuffer buffer) {
        try {
            return Optional.of(
                    new ClBlast(SymbolLookup.libraryLookup(LIBRARY, Arena.global()), buffer));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static long createQueue(OpenClBuffer buffer) {
        try (MemoryStack stack = MemoryStack.stackPush()) {
            PointerBuffer context = stack.mallocPointer(1);
            check(CL10.clGetMemObjectInfo(buffer.handle(), CL10.CL_MEM_CONTEXT, context, null));
            PointerBuffer device = stack.mallocPointer(1);
            check(CL10.clGetContextInfo(context.get(0), CL10.CL_CONTEXT_DEVICES, device, null));
            int[] status = new int[1];
            long created = CL10.clCreateCommandQueue(context.get(0), device.get(0), 0, status);
            check(status[0]);
            return created;
        }
    }

    /** Adds the product of A and B to C, and waits for the result. */
    void multiply(ProductPlans shape, OpenClBuffer a, OpenClBuffer b, OpenClBuffer c) {
        try {
            check((int) product.invokeExact(
                    ROW_MAJOR,
                    NOT_TRANSPOSED,
                    NOT_TRANSPOSED,
                    (long) shape.m(),
                    (long) shape.n(),
                    (long) shape.k(),
                    1f,
                    a.handle(),
                    0L,
                    (long) shape.k(),
                    b.handle(),
                    0L,
                    (long) shape.n(),
                    1f,
                    c.handle(),
                    0L,
                    (long) shape.n(),
                    queue,
                    MemorySegment.NULL));
        } catch (RuntimeException e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
        check(CL10.clFinish(queue.get(ValueLayout.JAVA_LONG, 0)));
    }

    private static void check(int status) {
        if (status != CL10.CL_SUCCESS) {
            throw new IllegalStateException("CLBlast or OpenCL failed with the status " + status);
        }
    }

    @Override
    public void close() {
        CL10.clReleaseCommandQueue(queue.get(ValueLayout.JAVA_LONG, 0));
        arena.close();
    }
}
