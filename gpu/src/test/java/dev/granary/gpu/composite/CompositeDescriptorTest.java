package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;
import dev.granary.gpu.composite.MemoryDescriptor.DataType;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of descriptors as keys. */
class CompositeDescriptorTest {
    private static final Target ONE = NoKernelEngine.target("one");
    private static final Target TWO = NoKernelEngine.target("two");

    private static final CompositeImplementation<Product> PLAIN = CompositeDescriptorTest::nothing;
    private static final CompositeImplementation<Product> TILED = CompositeDescriptorTest::nothing;
    private static final CompositeImplementation<Sum> OF_SUMS = CompositeDescriptorTest::nothing;

    /** Another kind with the components of {@link Product}. */
    record Sum(int rows, int columns) {}

    record Product(int rows, int columns) {}

    private static <O extends Record> ExecutionBody nothing(
            CompositeDescriptor<O> descriptor, CreationContext creation) {
        return _ -> {};
    }

    private static CompositeDescriptor.Builder<Product> base(Target target) {
        return CompositeDescriptor.builder(target, new Product(2, 3), PLAIN)
                .attributes(Attributes.none()
                        .with("scales", 1, 2)
                        .with("post", "relu")
                        .with("zero", 3))
                .threads(4)
                .memory("weights", MemoryDescriptor.rowMajor(DataType.F32, 2, 3));
    }

    @Test
    @DisplayName("two equal descriptors have equal hash codes")
    void same() {
        assertEquals(base(ONE).build(), base(ONE).build());
        assertEquals(base(ONE).build().hashCode(), base(ONE).build().hashCode());
        assertEquals(
                base(ONE).between(ONE, TWO).build(), base(ONE).between(ONE, TWO).build());
    }

    @Test
    @DisplayName(
            "a change of kind, parameters, an attribute, implementation, threads, memory or any"
                    + " target changes the key")
    void everyPartCounts() {
        Attributes attributes =
                Attributes.none().with("scales", 1, 2).with("post", "relu").with("zero", 3);
        MemoryDescriptor memory = MemoryDescriptor.rowMajor(DataType.F32, 2, 3);
        List<CompositeDescriptor<?>> all = List.of(
                base(ONE).build(),
                base(TWO).build(),
                CompositeDescriptor.builder(ONE, new Product(2, 4), PLAIN)
                        .attributes(attributes)
                        .threads(4)
                        .memory("weights", memory)
                        .build(),
                CompositeDescriptor.builder(ONE, new Sum(2, 3), OF_SUMS)
                        .attributes(attributes)
                        .threads(4)
                        .memory("weights", memory)
                        .build(),
                CompositeDescriptor.builder(ONE, new Product(2, 3), TILED)
                        .attributes(attributes)
                        .threads(4)
                        .memory("weights", memory)
                        .build(),
                base(ONE).attributes(attributes.with("scales", 1, 3)).build(),
                base(ONE).attributes(attributes.with("scales", 1, 2, 3)).build(),
                base(ONE).attributes(attributes.with("post", "tanh")).build(),
                base(ONE).attributes(attributes.with("zero", 4)).build(),
                base(ONE).attributes(attributes.with("more", "")).build(),
                base(ONE).attributes(Attributes.none()).build(),
                base(ONE).threads(5).build(),
                base(ONE)
                        .memory("weights", MemoryDescriptor.rowMajor(DataType.S32, 2, 3))
                        .build(),
                base(ONE)
                        .memory("weights", MemoryDescriptor.rowMajor(DataType.F32, 3, 2))
                        .build(),
                base(ONE)
                        .memory(
                                "weights",
                                new MemoryDescriptor(
                                        DataType.F32, List.of(2L, 3L), List.of(1L, 2L)))
                        .build(),
                base(ONE).memory("source", memory).build(),
                base(ONE).between(ONE, ONE).build(),
                base(ONE).between(ONE, TWO).build(),
                base(ONE).between(TWO, ONE).build(),
                base(TWO).between(TWO, ONE).build(),
                base(TWO).between(ONE, TWO).build());
        Set<CompositeDescriptor<?>> distinct = new HashSet<>(all);
        assertEquals(all.size(), distinct.size());
        assertEquals(all.size(), all.stream().map(Object::hashCode).distinct().count());
    }

    /** An operation and an implementation, named by a text. */
    record Text(String text) {}

    record TextImplementation(String text) implements CompositeImplementation<Text> {
        @Override
        public ExecutionBody create(
                CompositeDescriptor<Text> descriptor, CreationContext creation) {
            return _ -> {};
        }
    }

    /** Returns a descriptor whose texts are "Aa" or "BB", which have equal hash codes. */
    private static CompositeDescriptor<Text> colliding(int changed) {
        String[] parts = new String[7];
        Arrays.setAll(parts, i -> i == changed ? "BB" : "Aa");
        Target main = NoKernelEngine.target(parts[0]);
        return CompositeDescriptor.builder(
                        main, new Text(parts[1]), new TextImplementation(parts[2]))
                .attributes(Attributes.none().with("post", parts[3]))
                .memory(parts[4], MemoryDescriptor.rowMajor(DataType.F32, 1))
                .between(
                        changed == 5 ? NoKernelEngine.target(parts[5]) : main,
                        changed == 6 ? NoKernelEngine.target(parts[6]) : main)
                .build();
    }

    @Test
    @DisplayName("descriptors with equal hash codes differ in every part")
    void collisions() {
        CompositeDescriptor<Text> base = colliding(-1);
        assertEquals(base, colliding(-1));
        for (int changed = 0; changed < 7; changed++) {
            CompositeDescriptor<Text> other = colliding(changed);
            assertNotEquals(base, other, "part " + changed);
            assertEquals(
                    base.hashCode(),
                    other.hashCode(),
                    "part " + changed + ": a collision is the subject");
        }
    }

    @Test
    @DisplayName("a device counts by its target: backend, vendor, device, driver; engines of equal"
            + " targets share keys")
    void target() {
        Target equal = new Target(Backend.OPENCL, "none", "one", "1");
        assertEquals(base(ONE).build(), base(equal).build());
        for (Target other : List.of(
                new Target(Backend.OPENCL, "other", "one", "1"),
                new Target(Backend.OPENCL, "none", "other", "1"),
                new Target(Backend.OPENCL, "none", "one", "2"))) {
            assertNotEquals(base(ONE).build(), base(other).build());
        }
    }

    /** An operation that counts the computations of its hash code. */
    record Counted(AtomicInteger times) {
        @Override
        public int hashCode() {
            return times.incrementAndGet();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Counted;
        }
    }

    @Test
    @DisplayName("The hash code is computed once")
    void hashOnce() {
        Counted counted = new Counted(new AtomicInteger());
        CompositeImplementation<Counted> implementation = CompositeDescriptorTest::nothing;
        CompositeDescriptor<Counted> descriptor =
                CompositeDescriptor.builder(ONE, counted, implementation).build();
        int hash = descriptor.hashCode();
        for (int i = 0; i < 100; i++) {
            assertEquals(hash, descriptor.hashCode());
        }
        assertEquals(1, counted.times.get());
    }

    /** An operation that is not comparable by value. */
    @SuppressWarnings("ArrayRecordComponent") // the mistake is the subject
    record WithArray(int[] sizes) {}

    @Test
    @DisplayName(
            "An operation with an array, negative threads, a wrong main engine and invalid memory"
                    + " sizes are refused")
    void refused() {
        CompositeImplementation<WithArray> implementation = CompositeDescriptorTest::nothing;
        String message = String.valueOf(assertThrows(
                        IllegalArgumentException.class,
                        () -> CompositeDescriptor.builder(
                                ONE, new WithArray(new int[1]), implementation))
                .getMessage());
        assertTrue(message.contains("sizes") && message.contains("make it a List"), message);
        assertThrows(IllegalArgumentException.class, () -> base(ONE).threads(-1));
        assertThrows(IllegalArgumentException.class, () -> base(ONE).between(TWO, TWO));
        assertThrows(
                IllegalArgumentException.class, () -> MemoryDescriptor.rowMajor(DataType.F32, 0));
        assertThrows(
                IllegalArgumentException.class,
                () -> new MemoryDescriptor(DataType.F32, List.of(1L), List.of()));
        Attributes attributes = Attributes.none().with("post", "relu");
        assertThrows(IllegalArgumentException.class, () -> attributes.floats("post"));
        assertThrows(IllegalArgumentException.class, () -> attributes.number("none"));
    }

    @Test
    @DisplayName("The size of memory is that from its first element to its last, including gaps")
    void bytes() {
        assertEquals(24, MemoryDescriptor.rowMajor(DataType.F32, 2, 3).bytes());
        assertEquals(
                (10 + 2 + 1) * 2,
                new MemoryDescriptor(DataType.F16, List.of(2L, 3L), List.of(10L, 1L)).bytes());
        assertEquals(1, MemoryDescriptor.rowMajor(DataType.U8, 1).bytes());
    }
}
