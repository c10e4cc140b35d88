package dev.granary.gpu.composite;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeCache.KernelProvider;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The engines that a primitive is created for and run with. The main engine runs it; a primitive
 * between two engines also has a source and a destination. It owns none of them.
 *
 * @param main runs the primitive, and holds its scratchpad and constant memory
 * @param source holds the input
 * @param destination holds the output
 */
public record EngineSet(KernelEngine main, KernelEngine source, KernelEngine destination) {
    /** Returns a set that uses one engine for all roles. */
    public static EngineSet of(KernelEngine engine) {
        return new EngineSet(engine, engine, engine);
    }

    /**
     * Creates a primitive from its binaries, in the order of
     * {@link CompositePrimitive#getBinaries}, without compiling. The binaries must have been
     * verified, since a damaged binary can crash the driver.
     *
     * @throws RestoreException if the id of the descriptor is empty, the number of binaries is not
     *     that of its kernels, the driver rejects one, or the kind is not supported
     * @throws IllegalArgumentException if these engines do not have the descriptor's targets
     * @throws IllegalStateException if an engine is closed
     */
    public CompositePrimitive create(
            CompositeDescriptor<?> descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        check(descriptor);
        Map<KernelDescriptor, KernelProgram> programs = restored(descriptor, binaries, kind);
        KernelProvider provider = (_, kernel) -> {
            KernelProgram program = programs.get(kernel);
            if (program == null) {
                throw new CompileException(
                        "the creation requests the kernel " + kernel.name()
                                + ", which has no binary: an implementation must request the same"
                                + " kernels for equal descriptors",
                        "");
            }
            return program;
        };
        try {
            return new CompositeCache(
                            new PrimitiveCache<>(PrimitiveCache.DEFAULT_CAPACITY), provider)
                    .primitive(this, descriptor);
        } catch (CompileException e) { // nothing is compiled: a kernel has no binary
            throw new RestoreException(String.valueOf(e.getMessage()));
        }
    }

    private Map<KernelDescriptor, KernelProgram> restored(
            CompositeDescriptor<?> descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        CompositePlan plan = descriptor.plan();
        if (plan.id().isEmpty()) {
            throw new RestoreException(
                    descriptor.name() + " is not cacheable: " + plan.id().reason());
        }
        if (binaries.segments().size() != plan.kernels().size()) {
            throw new RestoreException(descriptor.name() + ": " + plan.kernels().size()
                    + " binaries are needed, not " + binaries);
        }
        Map<KernelDescriptor, KernelProgram> restored = new HashMap<>();
        for (int i = 0; i < binaries.segments().size(); i++) {
            KernelBinaries one =
                    KernelBinaries.ofSegments(List.of(binaries.segments().get(i)));
            for (KernelDescriptor kernel : plan.kernels().get(i)) {
                restored.put(kernel, engineFor(kernel.target()).create(kernel, one, kind));
            }
        }
        return restored;
    }

    /**
     * Checks that these engines have the targets of {@code descriptor}.
     *
     * @throws IllegalArgumentException if a target differs
     */
    void check(CompositeDescriptor<?> descriptor) {
        check(descriptor, "main", main, Optional.of(descriptor.target()));
        check(descriptor, "source", source, descriptor.source());
        check(descriptor, "destination", destination, descriptor.destination());
    }

    private static void check(
            CompositeDescriptor<?> descriptor,
            String role,
            KernelEngine engine,
            Optional<Target> required) {
        if (required.isPresent() && !engine.target().equals(required.get())) {
            throw new IllegalArgumentException(
                    "The " + role + " engine of " + descriptor.name() + " must be "
                            + required.get().name() + ", not " + engine.target().name()
                            + ": build the descriptor with the targets of the engines that are"
                            + " given");
        }
    }

    /**
     * Returns the engines of a primitive nested in one of these.
     *
     * @throws IllegalArgumentException if none of these engines has a target that it needs
     */
    EngineSet forNested(CompositeDescriptor<?> nested) {
        KernelEngine runner = engineFor(nested.target());
        return new EngineSet(
                runner,
                nested.source()
                        .map(target -> firstWithTarget(target, source, main, destination))
                        .orElse(runner),
                nested.destination()
                        .map(target -> firstWithTarget(target, destination, main, source))
                        .orElse(runner));
    }

    /**
     * Returns the engine of that target.
     *
     * @throws IllegalArgumentException if there is none
     */
    KernelEngine engineFor(Target target) {
        return firstWithTarget(target, main, source, destination);
    }

    private static KernelEngine firstWithTarget(Target target, KernelEngine... inOrder) {
        return Stream.of(inOrder)
                .filter(engine -> engine.target().equals(target))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "None of the primitive's engines is " + target.name()));
    }
}
