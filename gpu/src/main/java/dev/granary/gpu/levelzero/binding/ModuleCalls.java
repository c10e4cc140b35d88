package dev.granary.gpu.levelzero.binding;

import static dev.granary.gpu.levelzero.binding.ZeLibrary.POINTER;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.granary.gpu.DriverException;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Reference;
import java.util.List;
import java.util.Optional;

/** The calls about modules: build, build log, native binary, names of kernels. */
public final class ModuleCalls {
    private static final int MODULE_DESC = 0x1b;

    private final MethodHandle create;
    private final MethodHandle destroy;
    private final MethodHandle nativeBinary;
    private final MethodHandle kernelNames;
    private final MethodHandle logText;
    private final MethodHandle destroyLog;

    /** The form of the input of a build. */
    public enum Format {
        /** SPIR-V, which the driver compiles. */
        SPIRV(0),
        /** The native binary of a module. */
        NATIVE(1);

        private final int code; // ze_module_format_t

        Format(int code) {
            this.code = code;
        }
    }

    /** Finds the functions in the loader. */
    public ModuleCalls(ZeLibrary library) {
        create = library.function("zeModuleCreate", POINTER, POINTER, POINTER, POINTER, POINTER);
        destroy = library.function("zeModuleDestroy", POINTER);
        nativeBinary = library.function("zeModuleGetNativeBinary", POINTER, POINTER, POINTER);
        kernelNames = library.function("zeModuleGetKernelNames", POINTER, POINTER, POINTER);
        logText = library.function("zeModuleBuildLogGetString", POINTER, POINTER, POINTER);
        destroyLog = library.function("zeModuleBuildLogDestroy", POINTER);
    }

    /**
     * Builds a module.
     *
     * @param input the code; a native binary must have been verified
     * @param flags options for the driver's compiler
     */
    public ModuleBuild build(
            long context, long device, Format format, MemorySegment input, String flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment code =
                    input.isNative() ? input : arena.allocate(input.byteSize()).copyFrom(input);
            MemorySegment description = arena.allocate(56, 8);
            description.set(JAVA_INT, 0, MODULE_DESC);
            description.set(JAVA_INT, 16, format.code);
            description.set(JAVA_LONG, 24, code.byteSize());
            description.set(JAVA_LONG, 32, code.address());
            description.set(JAVA_LONG, 40, arena.allocateFrom(flags).address());
            MemorySegment module = arena.allocate(POINTER);
            MemorySegment log = arena.allocate(POINTER);
            int status = ZeLibrary.status("zeModuleCreate", () -> (int) create.invokeExact(
                    context, device, description.address(), module.address(), log.address()));
            String text = takeLog(log.get(POINTER, 0));
            return status == 0
                    ? new ModuleBuild(module.get(POINTER, 0), Optional.empty(), text)
                    : new ModuleBuild(
                            0, Optional.of(ZeLibrary.failure("zeModuleCreate", status)), text);
        } finally {
            Reference.reachabilityFence(input); // the driver has read it by now
        }
    }

    /** Destroys a module without kernels. */
    public void destroy(long module) {
        ZeLibrary.check("zeModuleDestroy", () -> (int) destroy.invokeExact(module));
    }

    /** Returns the native binary of a module, in memory of its own; may be empty. */
    public MemorySegment nativeBinary(long module) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment size = arena.allocate(POINTER);
            ZeLibrary.check("zeModuleGetNativeBinary", () ->
                    (int) nativeBinary.invokeExact(module, size.address(), 0L));
            MemorySegment binary = Arena.ofAuto().allocate(size.get(POINTER, 0));
            if (binary.byteSize() > 0) {
                ZeLibrary.check("zeModuleGetNativeBinary", () ->
                        (int) nativeBinary.invokeExact(module, size.address(), binary.address()));
            }
            return binary;
        }
    }

    /** Returns the names of the kernels of a module, in order of text. */
    public List<String> kernelNames(long module) {
        // the texts belong to the module
        return ZeLibrary.list("zeModuleGetKernelNames", (count, names) ->
                        (int) kernelNames.invokeExact(module, count, names))
                .stream()
                .map(name -> MemorySegment.ofAddress(name)
                        .reinterpret(Long.MAX_VALUE)
                        .getString(0))
                .sorted()
                .toList();
    }

    /** Returns the text of a build log and destroys it; empty if there is none. */
    private String takeLog(long log) {
        if (log == 0) {
            return "";
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment size = arena.allocate(POINTER);
            ZeLibrary.check("zeModuleBuildLogGetString", () ->
                    (int) logText.invokeExact(log, size.address(), 0L));
            // one byte more: not every driver counts the end of the text
            MemorySegment text = arena.allocate(size.get(POINTER, 0) + 1);
            ZeLibrary.check("zeModuleBuildLogGetString", () ->
                    (int) logText.invokeExact(log, size.address(), text.address()));
            text.set(JAVA_BYTE, text.byteSize() - 1, (byte) 0);
            return text.getString(0).strip();
        } catch (DriverException e) {
            return "(no build log: " + e.getMessage() + ")";
        } finally {
            ZeLibrary.status("zeModuleBuildLogDestroy", () -> (int) destroyLog.invokeExact(log));
        }
    }
}
