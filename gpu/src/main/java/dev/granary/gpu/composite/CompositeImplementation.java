package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * An implementation of the operations of one kind. Stateless and thread-safe.
 *
 * <p>The implementation is part of the key by its equality, so it should be an enum constant, a
 * record or a constant. A new object without value equality per descriptor would never hit the
 * cache.
 *
 * @param <O> the operations
 */
public interface CompositeImplementation<O extends Record> {
    /**
     * Obtains the kernels and nested primitives, declares scratchpad and constant memory, and
     * returns the body of an execution. The result must depend on {@code descriptor} alone, since
     * all engines with an equal descriptor share it.
     *
     * @throws CompileException if a kernel does not compile
     */
    ExecutionBody create(CompositeDescriptor<O> descriptor, CreationContext creation)
            throws CompileException;

    /**
     * The body of an execution of a composite primitive: launches of its kernels and executions of
     * its nested primitives. Immutable, shared between threads, and without state of an execution.
     */
    @FunctionalInterface
    public interface ExecutionBody {
        /** Runs once and waits for completion. */
        void run(ExecutionContext execution);
    }

    /**
     * The context from which a {@link CompositeImplementation} obtains the parts of a primitive
     * during its creation. Thread-safe, so that several threads may obtain parts at once. After
     * {@link CompositeImplementation#create} has returned, its methods throw
     * {@link IllegalStateException}.
     */
    public static final class CreationContext {
        private final CompositeDescriptor<?> descriptor;
        // guarded by this; null after the creation, so that no primitive retains an engine
        private @Nullable PartProvider parts;
        // guarded by this, like the following fields
        private final Map<KernelDescriptor, KernelProgram> kernels = new LinkedHashMap<>();
        private final Map<CompositeDescriptor<?>, CompositePrimitive> nested =
                new LinkedHashMap<>();
        private final Map<String, MemorySegment> constants = new LinkedHashMap<>();
        private final ScratchpadLayout scratchpad = new ScratchpadLayout();

        /** The source of the parts of one primitive during its creation. Thread-safe. */
        interface PartProvider {
            /** Returns a program, as {@link #kernel(KernelDescriptor)} does. */
            KernelProgram kernel(KernelDescriptor kernel) throws CompileException;

            /** Returns a nested primitive, as {@link #nested(CompositeDescriptor)} does. */
            CompositePrimitive nested(CompositeDescriptor<?> part) throws CompileException;
        }

        CreationContext(CompositeDescriptor<?> descriptor, PartProvider parts) {
            this.descriptor = descriptor;
            this.parts = parts;
        }

        /**
         * Runs the implementation, once, and returns the primitive.
         *
         * @throws CompileException if a kernel does not compile
         */
        CompositePrimitive create() throws CompileException {
            try {
                return complete(descriptor.create(this));
            } finally {
                close();
            }
        }

        /**
         * Returns the program that {@code kernel} describes, shared by all primitives that use it.
         *
         * @throws CompileException if it does not compile
         * @throws IllegalArgumentException if none of the primitive's engines has its target
         */
        public KernelProgram kernel(KernelDescriptor kernel) throws CompileException {
            KernelProgram program = parts().kernel(kernel);
            // callers that open an engine for each call must not compile each time
            program.outliveEngine();
            synchronized (this) {
                parts();
                kernels.put(program.descriptor(), program);
            }
            return program;
        }

        /** Returns several programs, obtained in parallel, in the order of the descriptors. */
        public List<KernelProgram> kernels(List<KernelDescriptor> all) throws CompileException {
            return ParallelCalls.call(all.stream()
                    .<Callable<KernelProgram>>map(one -> () -> kernel(one))
                    .toList());
        }

        /**
         * Returns the nested primitive that {@code part} describes, from the same cache.
         *
         * @throws CompileException if one of its kernels does not compile
         * @throws IllegalStateException if the primitive needs itself
         * @throws IllegalArgumentException if none of the primitive's engines has its target
         */
        public CompositePrimitive nested(CompositeDescriptor<?> part) throws CompileException {
            CompositePrimitive primitive = parts().nested(part);
            synchronized (this) {
                parts();
                CompositePrimitive known = nested.putIfAbsent(part, primitive);
                return known == null ? primitive : known;
            }
        }

        /**
         * Returns several nested primitives, obtained in parallel, in the order of the descriptors.
         */
        public List<CompositePrimitive> nested(List<? extends CompositeDescriptor<?>> parts)
                throws CompileException {
            return ParallelCalls.call(parts.stream()
                    .<Callable<CompositePrimitive>>map(part -> () -> nested(part))
                    .toList());
        }

        /**
         * Declares a part of the scratchpad: main engine memory that each execution may use and
         * that keeps nothing between executions. The handle allocates it. The needs of nested
         * primitives are added automatically.
         *
         * @throws IllegalArgumentException if there is a part of that name, or {@code bytes} is not
         *     positive
         */
        public synchronized void scratchpad(String name, long bytes) {
            parts();
            scratchpad.add(name, bytes);
        }

        /**
         * Declares constant memory on the main engine, such as scales. Each handle allocates it and
         * fills it with a copy of the content.
         *
         * @throws IllegalArgumentException if there is constant memory of that name, or the content
         *     is empty
         */
        public synchronized void constant(String name, MemorySegment content) {
            parts();
            if (content.byteSize() == 0) {
                throw new IllegalArgumentException(
                        "The constant memory " + name + " has no content");
            }
            byte[] copy = content.toArray(ValueLayout.JAVA_BYTE);
            if (constants.putIfAbsent(name, MemorySegment.ofArray(copy).asReadOnly()) != null) {
                throw new IllegalArgumentException("There is constant memory " + name + " already");
            }
        }

        /** Declares constant memory, like {@link #constant(String, MemorySegment)}. */
        public void constant(String name, float... content) {
            constant(name, MemorySegment.ofArray(content));
        }

        private synchronized CompositePrimitive complete(ExecutionBody body) {
            scratchpad.complete(nested.values().stream()
                    .mapToLong(CompositePrimitive::scratchpadBytes)
                    .max()
                    .orElse(0));
            return new CompositePrimitive(descriptor, body, kernels, nested, constants, scratchpad);
        }

        /** Ends the use of this context, whether the creation succeeded or failed. */
        private synchronized void close() {
            parts = null;
        }

        private synchronized PartProvider parts() {
            PartProvider known = parts;
            if (known == null) {
                throw new IllegalStateException("The creation of " + descriptor.name()
                        + " has ended: obtain all parts in CompositeImplementation.create");
            }
            return known;
        }
    }

    /**
     * The context of one execution of a primitive, passed to its {@link ExecutionBody}. Valid only
     * while the body runs, and on its thread.
     */
    public static final class ExecutionContext {
        private final CompositePrimitive primitive;
        private final CompositeHandle handle;
        private final long scratchpadOffset;
        private final Map<String, ? extends DeviceBuffer> arguments;

        ExecutionContext(
                CompositePrimitive primitive,
                CompositeHandle handle,
                long scratchpadOffset,
                Map<String, ? extends DeviceBuffer> arguments) {
            this.primitive = primitive;
            this.handle = handle;
            this.scratchpadOffset = scratchpadOffset;
            this.arguments = arguments;
        }

        void run() {
            primitive.body().run(this);
        }

        /**
         * Returns the operand of that name.
         *
         * @throws IllegalArgumentException if the caller did not pass it
         */
        public DeviceBuffer argument(String name) {
            DeviceBuffer argument = arguments.get(name);
            if (argument == null) {
                throw new IllegalArgumentException(primitive.descriptor().name()
                        + " needs the argument " + name + "; given are " + arguments.keySet());
            }
            return argument;
        }

        /**
         * Returns the part declared by {@link CreationContext#scratchpad}, with undefined content.
         */
        public DeviceBuffer scratchpad(String name) {
            ScratchpadLayout.Part part = primitive.scratchpad().part(name);
            return handle.scratchpad(
                    new ScratchpadLayout.Part(scratchpadOffset + part.offset(), part.bytes()));
        }

        /** Returns the constant memory declared by {@link CreationContext#constant}. */
        public DeviceBuffer constant(String name) {
            return handle.constant(primitive, name);
        }

        /**
         * Launches a kernel and waits for its completion.
         *
         * @param program a program from {@link CreationContext#kernel}
         * @param kernel the kernel's name in the program
         * @param launchArguments as for {@link dev.granary.gpu.LoadedKernels#launch}
         */
        public void launch(
                KernelProgram program,
                String kernel,
                Geometry geometry,
                Object... launchArguments) {
            handle.kernels(primitive, program).launch(kernel, geometry, launchArguments);
        }

        /**
         * Runs a nested primitive.
         *
         * @param nested a primitive from {@link CreationContext#nested(CompositeDescriptor)}
         * @param nestedArguments its operands, which may include parts of this primitive's
         *     scratchpad
         */
        public void run(
                CompositePrimitive nested, Map<String, ? extends DeviceBuffer> nestedArguments) {
            new ExecutionContext(
                            primitive.nested(nested),
                            handle,
                            scratchpadOffset + primitive.scratchpad().nestedOffset(),
                            nestedArguments)
                    .run();
        }

        /**
         * Copies all of {@code from} to the start of {@code to} through host memory; the buffers
         * may belong to different engines.
         *
         * @throws IllegalArgumentException if {@code to} is smaller
         */
        public void copy(DeviceBuffer from, DeviceBuffer to) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment staging = arena.allocate(from.byteSize());
                from.readTo(staging);
                to.writeFrom(staging);
            }
        }
    }
}
