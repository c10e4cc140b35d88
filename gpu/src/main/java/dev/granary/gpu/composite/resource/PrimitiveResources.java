package dev.granary.gpu.composite.resource;

import dev.granary.cache.CompileException;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.engine.Closer;

import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * The resources of one primitive on its engines: loaded kernels and constant memory. Created for a
 * handle and released with it.
 */
public final class PrimitiveResources implements AutoCloseable {
    private final Map<KernelDescriptor, LoadedKernels> kernels = new HashMap<>();
    private final Map<String, DeviceBuffer> constants = new HashMap<>();

    private PrimitiveResources() {}

    /**
     * Creates the resources. If that fails, all of them are released.
     *
     * @param programs the programs of kernels of the primitive
     * @param constants the content of its constant memory, by name
     * @param main the engine of the constant memory
     * @param engines the engine of each target that a program has
     * @throws CompileException if a kernel must be compiled again and does not compile
     */
    public static PrimitiveResources create(
            Collection<KernelProgram> programs,
            Map<String, MemorySegment> constants,
            KernelEngine main,
            Function<Target, KernelEngine> engines)
            throws CompileException {
        PrimitiveResources resource = new PrimitiveResources();
        try {
            for (KernelProgram program : programs) {
                resource.load(engines.apply(program.descriptor().target()), program);
            }
            for (Map.Entry<String, MemorySegment> constant : constants.entrySet()) {
                resource.fill(main, constant.getKey(), constant.getValue());
            }
            return resource;
        } catch (Throwable e) {
            Closer.closeAfter(e, resource::close);
            throw e;
        }
    }

    /**
     * Returns the loaded kernels of a program.
     *
     * @throws IllegalArgumentException if the program does not belong to this primitive
     */
    public LoadedKernels kernels(KernelProgram program) {
        LoadedKernels loaded = kernels.get(program.descriptor());
        if (loaded == null) {
            throw new IllegalArgumentException(
                    "The program " + program.descriptor().name()
                            + " does not belong to this primitive: obtain it in"
                            + " CompositeImplementation.create");
        }
        return loaded;
    }

    /**
     * Returns the constant memory of that name.
     *
     * @throws IllegalArgumentException if there is none
     */
    public DeviceBuffer constant(String name) {
        DeviceBuffer buffer = constants.get(name);
        if (buffer == null) {
            throw new IllegalArgumentException(
                    "There is no constant memory " + name + ", only " + constants.keySet());
        }
        return buffer;
    }

    private void load(KernelEngine engine, KernelProgram program) throws CompileException {
        try {
            LoadedKernels loaded = engine.load(program);
            kernels.put(program.descriptor(), loaded);
            loaded.createKernels();
        } catch (RestoreException e) {
            throw new CompileException(String.valueOf(e.getMessage()), "");
        }
    }

    private void fill(KernelEngine engine, String name, MemorySegment content) {
        DeviceBuffer buffer = engine.buffer(content.byteSize());
        constants.put(name, buffer);
        buffer.writeFrom(content);
    }

    @Override
    public void close() {
        try (Closer all = new Closer()) {
            kernels.values().forEach(loaded -> all.add(loaded::close));
            constants.values().forEach(buffer -> all.add(buffer::close));
        }
    }
}
