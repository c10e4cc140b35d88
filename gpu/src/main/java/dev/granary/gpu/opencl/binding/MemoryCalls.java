package dev.granary.gpu.opencl.binding;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.lwjgl.opencl.CL10;
import org.lwjgl.opencl.CL11;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Native calls for buffers, and transfers from and to the host. Thread-safe. */
public class MemoryCalls extends CheckedCalls {
    public long createBuffer(long context, long bytes) {
        return create(
                "clCreateBuffer",
                status -> CL10.nclCreateBuffer(context, CL10.CL_MEM_READ_WRITE, bytes, 0, status));
    }

    /** Creates a buffer that shares a part of another buffer's memory. */
    public long createSubBuffer(long buffer, long offset, long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment region = arena.allocateFrom(JAVA_LONG, offset, bytes);
            return create(
                    "clCreateSubBuffer",
                    status -> CL11.nclCreateSubBuffer(
                            buffer,
                            CL10.CL_MEM_READ_WRITE,
                            CL11.CL_BUFFER_CREATE_TYPE_REGION,
                            region.address(),
                            status));
        }
    }

    /** Returns the handle of a memory object's context. */
    public long memoryContext(long memory) {
        return memoryInfo(memory, CL10.CL_MEM_CONTEXT).get(JAVA_LONG, 0);
    }

    /** Returns the kind of a memory object, such as {@code CL_MEM_OBJECT_BUFFER}. */
    public int memoryType(long memory) {
        return memoryInfo(memory, CL10.CL_MEM_TYPE).get(JAVA_INT, 0);
    }

    /** Returns the size of a memory object in bytes. */
    public long memorySize(long memory) {
        return memoryInfo(memory, CL10.CL_MEM_SIZE).get(JAVA_LONG, 0);
    }

    /** Returns true if the memory object is a part of another one. */
    public boolean isSubBuffer(long memory) {
        return memoryInfo(memory, CL11.CL_MEM_ASSOCIATED_MEMOBJECT).get(JAVA_LONG, 0) != 0;
    }

    private MemorySegment memoryInfo(long memory, int info) {
        return query(
                "clGetMemObjectInfo",
                (size, value, needed) ->
                        CL10.nclGetMemObjectInfo(memory, info, size, value, needed));
    }

    public void retainBuffer(long buffer) {
        check("clRetainMemObject", CL10.clRetainMemObject(buffer));
    }

    public void releaseBuffer(long buffer) {
        check("clReleaseMemObject", CL10.clReleaseMemObject(buffer));
    }

    public void readBuffer(long queue, long buffer, MemorySegment into) {
        check(
                "clEnqueueReadBuffer",
                CL10.nclEnqueueReadBuffer(
                        queue, buffer, CL10.CL_TRUE, 0, into.byteSize(), into.address(), 0, 0, 0));
    }

    public void writeBuffer(long queue, long buffer, MemorySegment from) {
        check(
                "clEnqueueWriteBuffer",
                CL10.nclEnqueueWriteBuffer(
                        queue, buffer, CL10.CL_TRUE, 0, from.byteSize(), from.address(), 0, 0, 0));
    }
}
