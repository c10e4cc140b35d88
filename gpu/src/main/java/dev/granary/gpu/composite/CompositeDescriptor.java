package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import java.lang.reflect.RecordComponent;
import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Everything that decides what a composite primitive is, and so the key of the cache: the operation with its kind and parameters, attributes,
 * the implementation, the number of threads, memory descriptors where they matter, and the targets of its engines. Never an engine, a
 * context or a pointer: whoever has an engine of the same target shares the primitive. Immutable; compared by value, its hash computed once.
 *
 * @param <O> the operation: a record, whose class is the kind and whose components are the parameters
 */
public final class CompositeDescriptor<O extends Record> {
    private final Target target;
    private final Optional<Target> source;
    private final Optional<Target> destination;
    private final O operation;
    private final CompositeImplementation<O> implementation;
    private final Attributes attributes;
    private final int threads;
    private final NavigableMap<String, MemoryDescriptor> memory;
    private final int hash;

    private CompositeDescriptor(Builder<O> from) {
        target = from.target;
        source = from.source;
        destination = from.destination;
        operation = from.operation;
        implementation = from.implementation;
        attributes = from.attributes;
        threads = from.threads;
        memory = Collections.unmodifiableNavigableMap(new TreeMap<>(from.memory));
        hash = List.of(operation.getClass(), operation, implementation, attributes, threads, memory, target, source, destination).hashCode();
    }

    /**
     * Starts a descriptor.
     *
     * @param target what the engine is that runs the primitive
     * @param operation what is done: kind and parameters
     * @param implementation how it is done
     * @throws IllegalArgumentException if a component of {@code operation} is an array, which is not compared by value
     */
    public static <O extends Record> Builder<O> builder(Target target, O operation, CompositeImplementation<O> implementation) {
        return new Builder<>(target, operation, implementation);
    }

    /** Collects what the primitive depends on. Not thread-safe. */
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
                    throw new IllegalArgumentException("The component " + component.getName() + " of " + operation.getClass().getSimpleName()
                            + " is an array, which is not compared by value: make it a List");
                }
            }
            this.target = target;
            this.operation = operation;
            this.implementation = implementation;
        }

        /** Sets what modifies the operation. */
        public Builder<O> attributes(Attributes all) {
            attributes = all;
            return this;
        }

        /**
         * Sets how many threads the implementation is made for; 0, the default, where that does not matter.
         *
         * @throws IllegalArgumentException if it is negative
         */
        public Builder<O> threads(int count) {
            if (count < 0) {
                throw new IllegalArgumentException("The number of threads is 0 or more, not " + count);
            }
            threads = count;
            return this;
        }

        /** Says how the operand of that name lies in memory; only where the implementation depends on it. */
        public Builder<O> memory(String operand, MemoryDescriptor descriptor) {
            memory.put(operand, descriptor);
            return this;
        }

        /**
         * Makes it a primitive between two engines, such as a reorder: what it reads lies in one, what it writes in the other.
         *
         * @throws IllegalArgumentException if neither is the target that runs it
         */
        public Builder<O> between(Target source, Target destination) {
            if (!source.equals(target) && !destination.equals(target)) {
                throw new IllegalArgumentException("A primitive between two engines runs on one of them: " + target.name() + " is neither "
                        + source.name() + " nor " + destination.name());
            }
            this.source = Optional.of(source);
            this.destination = Optional.of(destination);
            return this;
        }

        /** The descriptor. */
        public CompositeDescriptor<O> build() {
            return new CompositeDescriptor<>(this);
        }
    }

    /** The kind of operation, for people. */
    public String kind() {
        return operation.getClass().getSimpleName();
    }

    /** What is done. */
    public O operation() {
        return operation;
    }

    /** How it is done. */
    public CompositeImplementation<O> implementation() {
        return implementation;
    }

    /** What modifies the operation. */
    public Attributes attributes() {
        return attributes;
    }

    /** For how many threads; 0 where that does not matter. */
    public int threads() {
        return threads;
    }

    /** How operands lie in memory, by name; those that matter. */
    public NavigableMap<String, MemoryDescriptor> memory() {
        return memory;
    }

    /** What the engine is that runs it. */
    public Target target() {
        return target;
    }

    /** What the engine is that it reads from, if it is between two. */
    public Optional<Target> source() {
        return source;
    }

    /** What the engine is that it writes to, if it is between two. */
    public Optional<Target> destination() {
        return destination;
    }

    ExecutionBody create(CreationContext creation) throws CompileException {
        return implementation.create(this, creation);
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || (other instanceof CompositeDescriptor<?> that
                        && hash == that.hash
                        && operation.equals(that.operation)
                        && implementation.equals(that.implementation)
                        && attributes.equals(that.attributes)
                        && threads == that.threads
                        && memory.equals(that.memory)
                        && target.equals(that.target)
                        && source.equals(that.source)
                        && destination.equals(that.destination));
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
