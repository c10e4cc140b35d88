package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What one primitive needs of its contexts to run: live kernels and constant memory. Made for a handle, freed with it. */
final class PrimitiveResources implements AutoCloseable {
    private final Map<PrimitiveDescriptor, LoadedKernels> kernels = new HashMap<>();
    private final Map<String, DeviceBuffer> constants = new HashMap<>();

    private PrimitiveResources() {}

    /**
     * Makes the resource; what fails leaves nothing behind.
     *
     * @throws CompileException if a kernel that must be compiled once more does not compile
     */
    static PrimitiveResources make(CompositePrimitive primitive, EngineSet engines) throws CompileException {
        PrimitiveResources resource = new PrimitiveResources();
        try {
            for (Primitive program : primitive.kernels()) {
                resource.load(engines.engineFor(program.descriptor().target()), program);
            }
            for (Map.Entry<String, MemorySegment> constant : primitive.constants().entrySet()) {
                resource.fill(engines.main(), constant.getKey(), constant.getValue());
            }
            return resource;
        } catch (Throwable e) {
            Closer.after(e, resource::close);
            throw e;
        }
    }

    LoadedKernels kernels(Primitive program) {
        LoadedKernels live = kernels.get(program.descriptor());
        if (live == null) {
            throw new IllegalArgumentException(
                    "The program " + program.descriptor().name() + " is none of this primitive: obtain it in Implementation.create");
        }
        return live;
    }

    DeviceBuffer constant(String name) {
        DeviceBuffer buffer = constants.get(name);
        if (buffer == null) {
            throw new IllegalArgumentException("There is no constant memory " + name + ", only " + constants.keySet());
        }
        return buffer;
    }

    /** A program belongs to one kind of engine, the one of its target, so what it is is what that engine makes. */
    @SuppressWarnings("unchecked")
    private <P extends Primitive> void load(KernelEngine<P> engine, Primitive program) throws CompileException {
        try {
            LoadedKernels live = engine.load((P) program);
            kernels.put(program.descriptor(), live);
            live.makeLive();
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
        kernels.values().forEach(live -> all.add(live::close));
        Closer.all(all);
    }
}
