package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Id;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;

import org.jspecify.annotations.Nullable;

import java.lang.reflect.RecordComponent;
import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Descriptor of a composite primitive, and its cache key. It contains the operation with its kind
 * and parameters, attributes, implementation, number of threads, relevant memory descriptors, and
 * the targets of its engines.
 *
 * <p>It contains no engine, context or pointer, so that engines of the same target share the
 * primitive. Immutable; compared by value, with a cached hash code.
 *
 * @param <O> the operation: a record whose class is the kind and whose components are the
 *     parameters
 */
public final class CompositeDescriptor<O extends Record> implements PrimitiveDescriptor {
    private final Target target;
    private final Optional<Target> source;
    private final Optional<Target> destination;
    private final O operation;
    private final CompositeImplementation<O> implementation;
    private final Attributes attributes;
    private final int threads;
    private final NavigableMap<String, MemoryDescriptor> memory;
    private final List<Object> values; // all of the above
    private final int hash;
    private volatile @Nullable CompositePlan plan; // made on first use

    private CompositeDescriptor(Builder<O> builder) {
        target = builder.target;
        source = builder.source;
        destination = builder.destination;
        operation = builder.operation;
        implementation = builder.implementation;
        attributes = builder.attributes;
        threads = builder.threads;
        memory = Collections.unmodifiableNavigableMap(new TreeMap<>(builder.memory));
        values = List.of(
                operation.getClass(),
                operation,
                implementation,
                attributes,
                threads,
                memory,
                target,
                source,
                destination);
        hash = values.hashCode();
    }

    /**
     * Returns a new builder.
     *
     * @param target the target of the engine that runs the primitive
     * @param operation the kind and parameters of the operation
     * @param implementation the implementation of the operation
     * @throws IllegalArgumentException if a component of {@code operation} is an array, which is
     *     not compared by value
     */
    public static <O extends Record> Builder<O> builder(
            Target target, O operation, CompositeImplementation<O> implementation) {
        return new Builder<>(target, operation, implementation);
    }

    /** Builder of descriptors. Not thread-safe. */
    public static final class Builder<O extends Record> {
        private final Target target;
        private final O operation;
        private final CompositeImplementation<O> implementation;
        private final TreeMap<String, MemoryDescriptor> memory = new TreeMap<>();
        private Optional<Target> source = Optional.empty();
        private Optional<Target> destination = Optional.empty();
        private Attributes attributes = Attributes.none();
        private int threads;

        private Builder(Target target, O operation, CompositeImplementation<O> implementation) {
            for (RecordComponent component : operation.getClass().getRecordComponents()) {
                if (component.getType().isArray()) {
                    throw new IllegalArgumentException("The component " + component.getName()
                            + " of " + operation.getClass().getSimpleName()
                            + " is an array, which is not compared by value: make it a List");
                }
            }
            this.target = target;
            this.operation = operation;
            this.implementation = implementation;
        }

        /** Sets the attributes of the operation. */
        public Builder<O> attributes(Attributes all) {
            attributes = all;
            return this;
        }

        /**
         * Sets the number of threads that the implementation is made for; 0, the default, if
         * irrelevant.
         *
         * @throws IllegalArgumentException if it is negative
         */
        public Builder<O> threads(int count) {
            if (count < 0) {
                throw new IllegalArgumentException(
                        "The number of threads is 0 or more, not " + count);
            }
            threads = count;
            return this;
        }

        /**
         * Sets the memory descriptor of an operand. Needed only if the implementation depends on
         * it.
         */
        public Builder<O> memory(String operand, MemoryDescriptor descriptor) {
            memory.put(operand, descriptor);
            return this;
        }

        /**
         * Makes this a primitive between two engines, such as a reorder, that reads from one and
         * writes to the other.
         *
         * @throws IllegalArgumentException if neither target is that of the engine that runs the
         *     primitive
         */
        public Builder<O> between(Target source, Target destination) {
            if (!source.equals(target) && !destination.equals(target)) {
                throw new IllegalArgumentException(
                        "A primitive between two engines runs on one of them: " + target.name()
                                + " is neither " + source.name() + " nor " + destination.name());
            }
            this.source = Optional.of(source);
            this.destination = Optional.of(destination);
            return this;
        }

        /** Returns the descriptor. */
        public CompositeDescriptor<O> build() {
            return new CompositeDescriptor<>(this);
        }
    }

    /**
     * Returns the id of the binaries of all kernels, also of nested primitives. It contains every
     * part of this descriptor and the ids of the kernels, and is the same in every process.
     *
     * <p>The first call runs the implementation without engine and compiler, to find the kernels.
     * The id is empty in these cases:
     *
     * <ul>
     *   <li>The primitive has no kernel, or one with the empty id.
     *   <li>The implementation is not an enum constant or a record, so it has no certain name in
     *       another process.
     *   <li>A value of the operation or of the implementation is not a number, a character, a truth
     *       value, a text, an enum constant, a record, an {@link Optional}, a {@link List} or a
     *       {@link NavigableMap}.
     *   <li>The implementation needs more of a part than its descriptor before it returns.
     * </ul>
     */
    @Override
    public Id getId() {
        return plan().id();
    }

    /** Returns the kernels and nested primitives that the creation will request. */
    CompositePlan plan() {
        CompositePlan known = plan;
        if (known == null) {
            known = CompositePlan.of(this);
            plan = known;
        }
        return known;
    }

    /** Returns the kind of operation, for display. */
    @Override
    public String name() {
        return operation.getClass().getSimpleName();
    }

    @Override
    public String readableKey() {
        return toString();
    }

    /** Returns the operation. */
    public O operation() {
        return operation;
    }

    /** Returns the implementation. */
    public CompositeImplementation<O> implementation() {
        return implementation;
    }

    /** Returns the attributes. */
    public Attributes attributes() {
        return attributes;
    }

    /** Returns the number of threads; 0 if irrelevant. */
    public int threads() {
        return threads;
    }

    /** Returns the relevant memory descriptors by operand name. */
    public NavigableMap<String, MemoryDescriptor> memory() {
        return memory;
    }

    /** Returns the target of the engine that runs the primitive. */
    @Override
    public Target target() {
        return target;
    }

    /** Returns the target of the source engine, for a primitive between two engines. */
    public Optional<Target> source() {
        return source;
    }

    /** Returns the target of the destination engine, for a primitive between two engines. */
    public Optional<Target> destination() {
        return destination;
    }

    boolean hasTarget(Target one) {
        return target.equals(one)
                || source.filter(one::equals).isPresent()
                || destination.filter(one::equals).isPresent();
    }

    ExecutionBody create(CreationContext creation) throws CompileException {
        return implementation.create(this, creation);
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || (other instanceof CompositeDescriptor<?> that
                        && hash == that.hash
                        && values.equals(that.values));
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public String toString() {
        return operation + " by " + implementation + " for " + target.name();
    }
}
