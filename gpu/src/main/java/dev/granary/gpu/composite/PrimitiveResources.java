package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.composite.resource.Closer;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The resources of one primitive on its engines: loaded kernels and constant memory. Created for a
 * handle and released with it.
 */
final class PrimitiveResources implements AutoCloseable {
    private final Map<PrimitiveDescriptor, LoadedKernels> kernels = new HashMap<>();
    private final Map<String, DeviceBuffer> constants = new HashMap<>();

    private PrimitiveResources() {}

    /**
     * Creates the resources. If that fails, all of them are released.
     *
     * @throws CompileException if a kernel must be compiled again and does not compile
     */
    static PrimitiveResources create(CompositePrimitive primitive, EngineSet engines)
            throws CompileException {
        PrimitiveResources resource = new PrimitiveResources();
        try {
            for (Primitive program : primitive.programs()) {
                resource.load(engines.engineFor(program.descriptor().target()), program);
            }
            for (Map.Entry<String, MemorySegment> constant :
                    primitive.constants().entrySet()) {
                resource.fill(engines.main(), constant.getKey(), constant.getValue());
            }
            return resource;
        } catch (Throwable e) {
            Closer.closeAfter(e, resource::close);
            throw e;
        }
    }

    LoadedKernels kernels(Primitive program) {
        LoadedKernels loaded = kernels.get(program.descriptor());
        if (loaded == null) {
            throw new IllegalArgumentException(
                    "The program " + program.descriptor().name()
                            + " does not belong to this primitive: obtain it in"
                            + " CompositeImplementation.create");
        }
        return loaded;
    }

    DeviceBuffer constant(String name) {
        DeviceBuffer buffer = constants.get(name);
        if (buffer == null) {
            throw new IllegalArgumentException(
                    "There is no constant memory " + name + ", only " + constants.keySet());
        }
        return buffer;
    }

    /** The cast is safe: a program's target determines its engine type, and so its own type. */
    @SuppressWarnings("unchecked")
    private <P extends Primitive> void load(KernelEngine<P> engine, Primitive program)
            throws CompileException {
        try {
            LoadedKernels loaded = engine.load((P) program);
            kernels.put(program.descriptor(), loaded);
            loaded.createKernels();
        } catch (RestoreException e) {
            throw new CompileException(String.valueOf(e.getMessage()), "");
        }
    }

    private void fill(KernelEngine<?> engine, String name, MemorySegment content) {
        DeviceBuffer buffer = engine.buffer(content.byteSize());
        constants.put(name, buffer);
        buffer.writeFrom(content);
    }

    @Override
    public void close() {
        List<Closer.Closeable> all = new ArrayList<>();
        constants.values().forEach(buffer -> all.add(buffer::close));
        kernels.values().forEach(loaded -> all.add(loaded::close));
        Closer.closeAll(all);
    }
}
