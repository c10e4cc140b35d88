package dev.granary.gpu.composite;

import dev.granary.cache.Target;
import dev.granary.gpu.KernelEngine;

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
public record EngineSet(KernelEngine<?> main, KernelEngine<?> source, KernelEngine<?> destination) {
    /** Returns a set that uses one engine for all roles. */
    public static EngineSet of(KernelEngine<?> engine) {
        return new EngineSet(engine, engine, engine);
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
            KernelEngine<?> engine,
            Optional<Target> required) {
        if (required.isPresent() && !engine.target().equals(required.get())) {
            throw new IllegalArgumentException(
                    "The " + role + " engine of " + descriptor.kind() + " must be "
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
        KernelEngine<?> runner = engineFor(nested.target());
        return new EngineSet(
                runner,
                nested.source()
                        .<KernelEngine<?>>map(
                                target -> firstWithTarget(target, source, main, destination))
                        .orElse(runner),
                nested.destination()
                        .<KernelEngine<?>>map(
                                target -> firstWithTarget(target, destination, main, source))
                        .orElse(runner));
    }

    /**
     * Returns the engine of that target.
     *
     * @throws IllegalArgumentException if there is none
     */
    KernelEngine<?> engineFor(Target target) {
        return firstWithTarget(target, main, source, destination);
    }

    private static KernelEngine<?> firstWithTarget(Target target, KernelEngine<?>... inOrder) {
        return Stream.of(inOrder)
                .filter(engine -> engine.target().equals(target))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "None of the primitive's engines is " + target.name()));
    }
}
