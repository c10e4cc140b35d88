package dev.granary.gpu.composite;

import dev.granary.cache.Target;
import dev.granary.gpu.KernelEngine;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The engines that a primitive is created for and run with: the main one, which runs it, and for a primitive between two engines the one that it
 * reads from and the one that it writes to. It owns none of them.
 *
 * @param main runs the primitive, and has its scratchpad and its constant memory
 * @param source what it reads lies there
 * @param destination what it writes lies there
 */
public record EngineSet(KernelEngine<?> main, KernelEngine<?> source, KernelEngine<?> destination) {
    /** One engine for all. */
    public static EngineSet of(KernelEngine<?> engine) {
        return new EngineSet(engine, engine, engine);
    }

    /**
     * Says what is wrong where these are not the engines that {@code descriptor} is for.
     *
     * @throws IllegalArgumentException if a target differs
     */
    void check(CompositeDescriptor<?> descriptor) {
        check(descriptor, "main", main, Optional.of(descriptor.target()));
        check(descriptor, "source", source, descriptor.source());
        check(descriptor, "destination", destination, descriptor.destination());
    }

    private static void check(CompositeDescriptor<?> descriptor, String part, KernelEngine<?> engine, Optional<Target> wanted) {
        if (wanted.isPresent() && !engine.target().equals(wanted.get())) {
            throw new IllegalArgumentException("The " + part + " engine of " + descriptor.kind() + " must be " + wanted.get().name() + ", not "
                    + engine.target().name() + ": build the descriptor with the targets of the engines that are given");
        }
    }

    /**
     * The engines of a primitive that is nested in one of these.
     *
     * @throws IllegalArgumentException if it is for a target that none of these has
     */
    EngineSet forNested(CompositeDescriptor<?> nested) {
        KernelEngine<?> runs = engineFor(nested.target());
        return new EngineSet(
                runs,
                nested.source().<KernelEngine<?>>map(target -> first(target, source, main, destination)).orElse(runs),
                nested.destination().<KernelEngine<?>>map(target -> first(target, destination, main, source)).orElse(runs));
    }

    /**
     * The engine that has kernels of that target.
     *
     * @throws IllegalArgumentException if none has
     */
    KernelEngine<?> engineFor(Target target) {
        return first(target, main, source, destination);
    }

    private static KernelEngine<?> first(Target target, KernelEngine<?>... inOrder) {
        return Stream.of(inOrder).filter(engine -> engine.target().equals(target)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("None of the primitive's engines is " + target.name()));
    }
}
