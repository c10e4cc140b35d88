package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.engine.Closer;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The resources of one handle: loaded kernels and constant memory, of its primitive and of all
 * nested ones, and the scratchpad. Equal primitives share theirs, wherever they are nested. Not
 * thread-safe.
 */
final class HandleResources implements AutoCloseable {
    private final Map<CompositeDescriptor<?>, Resources> resources = new LinkedHashMap<>();
    private final Map<ScratchpadLayout.Part, DeviceBuffer> parts = new HashMap<>();
    private final Closer releases = new Closer();
    private @Nullable DeviceBuffer scratchpad; // null if none is needed

    /** The resources of one primitive. */
    private record Resources(
            Map<KernelDescriptor, LoadedKernels> kernels, Map<String, DeviceBuffer> constants) {}

    private HandleResources() {}

    /**
     * Creates the resources of a primitive. If that fails, all of them are released.
     *
     * @throws CompileException if a kernel must be compiled again and does not compile
     */
    static HandleResources create(CompositePrimitive primitive, EngineSet engines)
            throws CompileException {
        HandleResources created = new HandleResources();
        try {
            created.addAll(primitive, engines);
            if (primitive.scratchpadBytes() > 0) {
                created.scratchpad = created.buffer(engines.main(), primitive.scratchpadBytes());
            }
            return created;
        } catch (Throwable e) {
            Closer.closeAfter(e, created::close);
            throw e;
        }
    }

    /** Adds the missing resources of a primitive and of its nested ones. */
    private void addAll(CompositePrimitive primitive, EngineSet outermost) throws CompileException {
        if (resources.containsKey(primitive.descriptor())) {
            return;
        }
        EngineSet engines = outermost.forNested(primitive.descriptor());
        Resources own = new Resources(new HashMap<>(), new HashMap<>());
        for (KernelProgram program : primitive.programs()) {
            KernelDescriptor descriptor = program.descriptor();
            own.kernels.put(descriptor, load(engines.engineFor(descriptor.target()), program));
        }
        for (Map.Entry<String, MemorySegment> constant : primitive.constants().entrySet()) {
            DeviceBuffer buffer = buffer(engines.main(), constant.getValue().byteSize());
            buffer.writeFrom(constant.getValue());
            own.constants.put(constant.getKey(), buffer);
        }
        resources.put(primitive.descriptor(), own);
        for (CompositePrimitive nested : primitive.nested()) {
            addAll(nested, outermost);
        }
    }

    private LoadedKernels load(KernelEngine engine, KernelProgram program) throws CompileException {
        try {
            LoadedKernels loaded = engine.load(program);
            releases.add(loaded::close);
            loaded.createKernels();
            return loaded;
        } catch (RestoreException e) {
            throw new CompileException(String.valueOf(e.getMessage()), "");
        }
    }

    private DeviceBuffer buffer(KernelEngine engine, long bytes) {
        DeviceBuffer buffer = engine.buffer(bytes);
        releases.add(buffer::close);
        return buffer;
    }

    /**
     * Returns the loaded kernels of a program.
     *
     * @throws IllegalArgumentException if the program does not belong to the primitive
     */
    LoadedKernels kernels(CompositePrimitive primitive, KernelProgram program) {
        LoadedKernels loaded = of(primitive).kernels.get(program.descriptor());
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
    DeviceBuffer constant(CompositePrimitive primitive, String name) {
        Map<String, DeviceBuffer> constants = of(primitive).constants;
        DeviceBuffer buffer = constants.get(name);
        if (buffer == null) {
            throw new IllegalArgumentException(
                    "There is no constant memory " + name + ", only " + constants.keySet());
        }
        return buffer;
    }

    private Resources of(CompositePrimitive primitive) {
        Resources found = resources.get(primitive.descriptor());
        if (found == null) {
            throw new IllegalStateException("The handle is closed");
        }
        return found;
    }

    /** Returns the part at that range of the scratchpad, sliced at its first use. */
    DeviceBuffer scratchpad(ScratchpadLayout.Part range) {
        DeviceBuffer whole = scratchpad;
        if (whole == null) {
            throw new IllegalStateException("The primitive has no scratchpad");
        }
        return parts.computeIfAbsent(range, part -> {
            DeviceBuffer slice = whole.slice(part.offset(), part.bytes());
            releases.add(slice::close);
            return slice;
        });
    }

    /** Returns the number of primitives with resources. */
    int count() {
        return resources.size();
    }

    @Override
    public void close() {
        resources.clear();
        releases.close();
    }
}
