package dev.granary.gpu.opencl.binding;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.nio.charset.StandardCharsets.UTF_8;

import org.lwjgl.opencl.CL;
import org.lwjgl.opencl.CL10;
import org.lwjgl.opencl.CL21;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.List;

/** Native calls for programs and their kernels. Thread-safe. */
public class ProgramCalls extends CheckedCalls {
    public long createProgramWithSource(long context, List<String> sources) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment texts = arena.allocate(ADDRESS, sources.size());
            MemorySegment lengths = arena.allocate(JAVA_LONG, sources.size());
            for (int i = 0; i < sources.size(); i++) {
                byte[] bytes = sources.get(i).getBytes(UTF_8);
                // a length of 0 means: up to the first NUL
                MemorySegment terminated = arena.allocate(bytes.length + 1L);
                terminated.copyFrom(MemorySegment.ofArray(bytes));
                texts.setAtIndex(ADDRESS, i, terminated);
                lengths.setAtIndex(JAVA_LONG, i, bytes.length);
            }
            return create(
                    "clCreateProgramWithSource",
                    status -> CL10.nclCreateProgramWithSource(
                            context, sources.size(), texts.address(), lengths.address(), status));
        }
    }

    /** Creates a program from a sound module of SPIR-V, for devices from OpenCL 2.1 on. */
    public long createProgramWithIL(long context, MemorySegment module) {
        if (CL.getICD().clCreateProgramWithIL == 0) {
            throw failed("clCreateProgramWithIL (a loader before 2.1)", CL10.CL_INVALID_OPERATION);
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = outOfHeap(arena, module);
            return create(
                    "clCreateProgramWithIL",
                    status -> CL21.nclCreateProgramWithIL(
                            context, bytes.address(), bytes.byteSize(), status));
        } finally {
            Reference.reachabilityFence(module); // the driver has read it by now
        }
    }

    private static MemorySegment outOfHeap(Arena arena, MemorySegment bytes) {
        return bytes.isNative()
                ? bytes
                : arena.allocateFrom(JAVA_BYTE, bytes, JAVA_BYTE, 0, bytes.byteSize());
    }

    /** Creates a program from verified bytes: drivers abort the process on damaged ones. */
    public long createProgramWithBinary(long context, long device, MemorySegment binary) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment binaryStatus = arena.allocate(JAVA_INT);
            MemorySegment bytes = outOfHeap(arena, binary);
            MemorySegment devices = arena.allocateFrom(JAVA_LONG, device);
            MemorySegment lengths = arena.allocateFrom(JAVA_LONG, binary.byteSize());
            MemorySegment binaries = arena.allocateFrom(JAVA_LONG, bytes.address());
            long program = create(
                    "clCreateProgramWithBinary",
                    status -> CL10.nclCreateProgramWithBinary(
                            context,
                            1,
                            devices.address(),
                            lengths.address(),
                            binaries.address(),
                            binaryStatus.address(),
                            status));
            if (binaryStatus.get(JAVA_INT, 0) != CL10.CL_SUCCESS) {
                releaseProgram(program);
            }
            check("clCreateProgramWithBinary (the device's binary)", binaryStatus.get(JAVA_INT, 0));
            return program;
        } finally {
            Reference.reachabilityFence(binary); // the driver has read it by now
        }
    }

    /**
     * Builds a program. Returns false if sources, options or binaries are at fault; the build log
     * has the reason.
     */
    public boolean buildProgram(long program, long device, String options) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment devices = arena.allocateFrom(JAVA_LONG, device);
            int status = CL10.nclBuildProgram(
                    program, 1, devices.address(), arena.allocateFrom(options).address(), 0, 0);
            if (status == CL10.CL_BUILD_PROGRAM_FAILURE
                    || status == CL10.CL_INVALID_BUILD_OPTIONS) {
                return false;
            }
            check("clBuildProgram", status);
            return true;
        }
    }

    public String buildLog(long program, long device) {
        return text(query(
                "clGetProgramBuildInfo",
                (size, value, needed) -> CL10.nclGetProgramBuildInfo(
                        program, device, CL10.CL_PROGRAM_BUILD_LOG, size, value, needed)));
    }

    /**
     * Returns the program's binary for that device. The first call may compile, and in some drivers
     * fixes the binary.
     */
    public MemorySegment programBinary(long program, long device) {
        List<Long> sizes = longs(programInfo(program, CL10.CL_PROGRAM_BINARY_SIZES));
        List<MemorySegment> binaries = sizes.stream()
                .map(size -> Arena.ofAuto().allocate(Math.max(1, size)).asSlice(0, size))
                .toList();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pointers = arena.allocateFrom(
                    JAVA_LONG,
                    binaries.stream().mapToLong(MemorySegment::address).toArray());
            check(
                    "clGetProgramInfo",
                    CL10.nclGetProgramInfo(
                            program,
                            CL10.CL_PROGRAM_BINARIES,
                            pointers.byteSize(),
                            pointers.address(),
                            0));
        } finally {
            Reference.reachabilityFence(binaries); // the driver has written them by now
        }
        return binaries.size() == 1
                ? binaries.getFirst()
                : binaryOf(device, longs(programInfo(program, CL10.CL_PROGRAM_DEVICES)), binaries);
    }

    private MemorySegment programInfo(long program, int info) {
        return query(
                "clGetProgramInfo",
                (size, value, needed) ->
                        CL10.nclGetProgramInfo(program, info, size, value, needed));
    }

    /** Selects a binary of a program in a context of several devices. */
    private MemorySegment binaryOf(long device, List<Long> devices, List<MemorySegment> binaries) {
        int index = devices.indexOf(device);
        if (index < 0 || index >= binaries.size()) {
            throw failed("clGetProgramInfo (the device's binary)", CL10.CL_INVALID_DEVICE);
        }
        return binaries.get(index);
    }

    public void retainProgram(long program) {
        check("clRetainProgram", CL10.clRetainProgram(program));
    }

    public void releaseProgram(long program) {
        check("clReleaseProgram", CL10.clReleaseProgram(program));
    }

    public long createKernel(long program, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom(name);
            return create(
                    "clCreateKernel(" + name + ")",
                    status -> CL10.nclCreateKernel(program, text.address(), status));
        }
    }

    public List<Long> createKernels(long program) {
        return handles(
                "clCreateKernelsInProgram",
                false,
                (room, kernels, count) ->
                        CL10.nclCreateKernelsInProgram(program, room, kernels, count));
    }

    public String kernelName(long kernel) {
        return text(kernelInfo(kernel, CL10.CL_KERNEL_FUNCTION_NAME));
    }

    public int kernelArguments(long kernel) {
        return kernelInfo(kernel, CL10.CL_KERNEL_NUM_ARGS).get(JAVA_INT, 0);
    }

    private MemorySegment kernelInfo(long kernel, int info) {
        return query(
                "clGetKernelInfo",
                (size, value, needed) -> CL10.nclGetKernelInfo(kernel, info, size, value, needed));
    }

    /** Returns true if the kernel's source requires a work-group size. */
    public boolean hasFixedGroup(long kernel, long device) {
        return query(
                                "clGetKernelWorkGroupInfo",
                                (size, value, needed) -> CL10.nclGetKernelWorkGroupInfo(
                                        kernel,
                                        device,
                                        CL10.CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                        size,
                                        value,
                                        needed))
                        .get(JAVA_LONG, 0)
                != 0;
    }

    public void releaseKernel(long kernel) {
        check("clReleaseKernel", CL10.clReleaseKernel(kernel));
    }

    /**
     * Sets an argument to {@code size} bytes at {@code address}; if the address is 0, to local
     * memory of that size.
     */
    public void setArgument(long kernel, int index, long size, long address) {
        check("clSetKernelArg(" + index + ")", CL10.nclSetKernelArg(kernel, index, size, address));
    }
}
