package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionContext;
import dev.granary.gpu.engine.Closer;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A composite primitive with the engines, resources and scratchpad to run it. The primitive is
 * shared; resources and scratchpad belong to this handle, and are released when it is closed. The
 * primitive stays cached and the engines stay open.
 *
 * <p>Resources are loaded kernels and constant memory, of the primitive and of all nested ones.
 * Equal primitives share theirs, wherever they are nested.
 *
 * <p>Thread-safe. Executions of one handle are serialized, since they share its scratchpad and
 * kernels; concurrent executions need separate handles.
 */
public final class CompositeHandle implements AutoCloseable {
    private final CompositePrimitive primitive;
    private final EngineSet engines;
    // held during an execution; a monitor is released even after a stack overflow
    private final Object executionLock = new Object();
    // guarded by executionLock, like the following fields
    private final Map<CompositeDescriptor<?>, Resources> resources = new LinkedHashMap<>();
    private final Map<ScratchpadLayout.Part, DeviceBuffer> parts = new HashMap<>();
    private final Closer releases = new Closer();
    private @Nullable DeviceBuffer scratchpad; // null if none is needed
    private boolean isClosed;

    /** The resources of one primitive. */
    private record Resources(
            Map<KernelDescriptor, LoadedKernels> kernels, Map<String, DeviceBuffer> constants) {}

    private CompositeHandle(CompositePrimitive primitive, EngineSet engines) {
        this.primitive = primitive;
        this.engines = engines;
    }

    /**
     * Opens a handle with the resources and scratchpad on these engines. If that fails, all of them
     * are released.
     *
     * @throws CompileException if a kernel must be compiled again and does not compile
     */
    static CompositeHandle open(CompositePrimitive primitive, EngineSet engines)
            throws CompileException {
        CompositeHandle opened = new CompositeHandle(primitive, engines);
        try {
            opened.addAll(primitive);
            if (primitive.scratchpadBytes() > 0) {
                opened.scratchpad = opened.buffer(engines.main(), primitive.scratchpadBytes());
            }
            return opened;
        } catch (Throwable e) {
            Closer.closeAfter(e, opened::close);
            throw e;
        }
    }

    /** Adds the missing resources of a primitive and of its nested ones. */
    private void addAll(CompositePrimitive added) throws CompileException {
        if (resources.containsKey(added.descriptor())) {
            return;
        }
        EngineSet own = engines.forNested(added.descriptor());
        Resources made = new Resources(new HashMap<>(), new HashMap<>());
        for (KernelProgram program : added.programs()) {
            KernelDescriptor descriptor = program.descriptor();
            made.kernels.put(descriptor, load(own.engineFor(descriptor.target()), program));
        }
        for (Map.Entry<String, MemorySegment> constant : added.constants().entrySet()) {
            DeviceBuffer buffer = buffer(own.main(), constant.getValue().byteSize());
            buffer.writeFrom(constant.getValue());
            made.constants.put(constant.getKey(), buffer);
        }
        resources.put(added.descriptor(), made);
        for (CompositePrimitive nested : added.nested()) {
            addAll(nested);
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

    /** Returns the shared primitive. */
    public CompositePrimitive primitive() {
        return primitive;
    }

    /** Returns the engines that it runs on. */
    public EngineSet engines() {
        return engines;
    }

    /** Returns the number of resources: one for each distinct primitive, including nested ones. */
    public int resources() {
        synchronized (executionLock) {
            return resources.size();
        }
    }

    /**
     * Runs the primitive once and waits for its completion.
     *
     * @param arguments the operands by the names of the implementation, each on the expected
     *     engine; they remain the caller's
     * @throws IllegalArgumentException if an operand is missing or on another engine
     * @throws IllegalStateException if this handle, an operand or an engine is closed
     */
    public void execute(Map<String, ? extends DeviceBuffer> arguments) {
        synchronized (executionLock) {
            if (isClosed) {
                throw new IllegalStateException(
                        "The handle of " + primitive.descriptor().name() + " is closed");
            }
            new ExecutionContext(primitive, this, 0, arguments).run();
        }
    }

    /**
     * Returns the loaded kernels of a program.
     *
     * @throws IllegalArgumentException if the program does not belong to the primitive
     */
    LoadedKernels kernels(CompositePrimitive user, KernelProgram program) {
        LoadedKernels loaded = of(user).kernels.get(program.descriptor());
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
    DeviceBuffer constant(CompositePrimitive user, String name) {
        Map<String, DeviceBuffer> constants = of(user).constants;
        DeviceBuffer buffer = constants.get(name);
        if (buffer == null) {
            throw new IllegalArgumentException(
                    "There is no constant memory " + name + ", only " + constants.keySet());
        }
        return buffer;
    }

    private Resources of(CompositePrimitive user) {
        Resources found = resources.get(user.descriptor());
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

    /** Releases the resources and the scratchpad, after a running execution has ended. */
    @Override
    public void close() {
        synchronized (executionLock) {
            isClosed = true;
            resources.clear();
            releases.close(); // releases nothing the second time
        }
    }
}
