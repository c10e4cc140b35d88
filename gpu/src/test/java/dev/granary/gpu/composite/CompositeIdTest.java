package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.CompileException;
import dev.granary.cache.Id;
import dev.granary.cache.Primitive;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;
import dev.granary.gpu.composite.MemoryDescriptor.DataType;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

/** Tests of the ids of composite primitives. */
class CompositeIdTest {
    private static final Target OTHER = NoKernelEngine.target("two");

    private static final String A = "kernel void a() {}";
    private static final String B = "kernel void b() {}";

    private static final AtomicBoolean IS_REVERSED = new AtomicBoolean();

    private static CompositeDescriptor<Pipeline> of(Pipeline operation) {
        return Pipeline.builder(operation, 8).build();
    }

    @Test
    @DisplayName("the id of a composite primitive is the same in another process, and in every"
            + " release")
    void sameInProcesses() throws Exception {
        String id = Pipeline.sample().getId().toString();
        assertEquals(
                List.of(id), ChildJvm.of(IdProgram.class).shortLived().run().lines());
        assertEquals("dd61d0103e4e67efd116ffefd38e8dfe1187f85229f50579592f25e73daaff5d", id);
        assertEquals(Pipeline.sample().getId(), Pipeline.sample().getId());
        assertEquals(Pipeline.TARGET, Pipeline.sample().getId().target());
        assertEquals(
                Optional.of(Pipeline.sample().getId()),
                Id.parse(Pipeline.sample().getId().bytes()));
    }

    @Test
    @DisplayName("every part of the key changes the id, and so does the source of a kernel, own"
            + " or nested")
    void everyPartCounts() {
        Attributes attributes = Attributes.none();
        Pipeline base = Pipeline.of(A, B);
        List<CompositeDescriptor<?>> all = List.of(
                of(base),
                of(Pipeline.of(A)),
                of(Pipeline.of(A, B + " ")),
                of(base.around(Pipeline.of(A))),
                of(base.around(Pipeline.of(B))),
                Pipeline.builder(base, 9).build(),
                Pipeline.builder(base, 8).threads(5).build(),
                Pipeline.builder(base, 8).attributes(attributes).build(),
                Pipeline.builder(base, 8)
                        .attributes(attributes.with("post", "1"))
                        .build(),
                Pipeline.builder(base, 8).attributes(attributes.with("post", 1)).build(),
                Pipeline.builder(base, 8)
                        .attributes(attributes.with("post", 1f))
                        .build(),
                Pipeline.builder(base, 8)
                        .memory("weights", MemoryDescriptor.rowMajor(DataType.S32, 2, 3))
                        .build(),
                Pipeline.builder(base, 8)
                        .memory("source", MemoryDescriptor.rowMajor(DataType.F32, 2, 3))
                        .build(),
                Pipeline.builder(base, 8)
                        .between(Pipeline.TARGET, Pipeline.TARGET)
                        .build(),
                Pipeline.builder(base, 8).between(Pipeline.TARGET, OTHER).build(),
                Pipeline.builder(base, 8).between(OTHER, Pipeline.TARGET).build());
        assertDistinct(all);
    }

    @Test
    @DisplayName("every component of an operation changes the id, also if the kernels are equal")
    void everyComponentCounts() {
        List<String> texts = List.of(A);
        Optional<Pipeline> none = Optional.empty();
        NavigableMap<String, Integer> empty = new TreeMap<>();
        NavigableMap<String, Integer> one = new TreeMap<>(Map.of("x", 1));
        Pipeline.Mode fast = Pipeline.Mode.FAST;
        Pipeline.Mode exact = Pipeline.Mode.EXACT;
        byte b = 1;
        short s = 2;
        assertDistinct(Stream.of(
                        new Pipeline(texts, none, fast, true, b, s, 3, 4, 'c', 0.5f, 0.25, empty),
                        new Pipeline(texts, none, exact, true, b, s, 3, 4, 'c', 0.5f, 0.25, empty),
                        new Pipeline(texts, none, fast, false, b, s, 3, 4, 'c', 0.5f, 0.25, empty),
                        new Pipeline(texts, none, fast, true, (byte) 9, s, 3, 4, 'c', 0, 0, empty),
                        new Pipeline(texts, none, fast, true, b, (short) 9, 3, 4, 'c', 0, 0, empty),
                        new Pipeline(texts, none, fast, true, b, s, 9, 4, 'c', 0.5f, 0.25, empty),
                        new Pipeline(texts, none, fast, true, b, s, 3, 9, 'c', 0.5f, 0.25, empty),
                        new Pipeline(texts, none, fast, true, b, s, 3, 4, '\ud800', 0, 0, empty),
                        new Pipeline(texts, none, fast, true, b, s, 3, 4, 'c', -0f, 0.25, empty),
                        new Pipeline(texts, none, fast, true, b, s, 3, 4, 'c', 0f, 0.25, empty),
                        new Pipeline(texts, none, fast, true, b, s, 3, 4, 'c', 0.5f, -1, empty),
                        new Pipeline(texts, none, fast, true, b, s, 3, 4, 'c', 0.5f, 0.25, one))
                .map(CompositeIdTest::of)
                .toList());
    }

    /** An operation whose only kernel does not depend on it. */
    record Framed(List<Object> values) {}

    enum FramedVariant implements CompositeImplementation<Framed> {
        ONE,
        OTHER {
            @Override
            public String toString() {
                return "ONE";
            }
        };

        @Override
        public ExecutionBody create(
                CompositeDescriptor<Framed> descriptor, CreationContext creation)
                throws CompileException {
            creation.kernel(
                    KernelDescriptor.builder(descriptor.target(), "k").source(A).build());
            return _ -> {};
        }
    }

    private static CompositeDescriptor<Framed> framed(Object... values) {
        return CompositeDescriptor.builder(
                        Pipeline.TARGET, new Framed(Arrays.asList(values)), FramedVariant.ONE)
                .build();
    }

    @Test
    @DisplayName("values are framed and have types: equal characters elsewhere, or as another"
            + " type, make another id")
    void framing() {
        assertDistinct(List.of(
                framed(),
                framed("ab", "c"),
                framed("a", "bc"),
                framed("abc"),
                framed("a\0", "b"),
                framed("a", "\0b"),
                framed(List.of("abc")),
                framed(List.of("a"), List.of("b")),
                framed(List.of("a", "b")),
                framed("1"),
                framed(1),
                framed(1L),
                framed((short) 1),
                framed((byte) 1),
                framed(1f),
                framed(1d),
                framed('1'),
                framed(true),
                framed(Optional.of(1)),
                framed(Optional.empty()),
                framed("FAST"),
                framed(Pipeline.Mode.FAST),
                framed("\ud800"),
                framed("?"),
                framed(new TreeMap<>(Map.of("a", "b"))),
                CompositeDescriptor.builder(
                                Pipeline.TARGET, new Framed(List.of()), FramedVariant.OTHER)
                        .build()));
        assertEquals(
                framed(Float.intBitsToFloat(0x7fc00001)).getId(),
                framed(Float.NaN).getId());
    }

    private static void assertDistinct(List<? extends CompositeDescriptor<?>> all) {
        Set<Id> ids = new HashSet<>();
        for (CompositeDescriptor<?> one : all) {
            assertFalse(one.getId().isEmpty(), () -> one + ": " + one.getId());
            assertTrue(ids.add(one.getId()), () -> one + " has the id of another");
        }
    }

    /** An operation whose creation order is changed from outside. */
    record Unordered() {}

    enum UnorderedVariant implements CompositeImplementation<Unordered> {
        ONLY {
            @Override
            public ExecutionBody create(
                    CompositeDescriptor<Unordered> descriptor, CreationContext creation)
                    throws CompileException {
                List<String> texts = IS_REVERSED.get() ? List.of(B, A) : List.of(A, B);
                for (String text : texts) {
                    creation.kernel(KernelDescriptor.builder(descriptor.target(), "k")
                            .source(text)
                            .build());
                }
                return _ -> {};
            }
        }
    }

    @Test
    @DisplayName("the id does not depend on the order in which an implementation requests kernels")
    void orderOfRequests() {
        Id first = unordered().getId();
        IS_REVERSED.set(true);
        assertEquals(first, unordered().getId());
        assertFalse(first.isEmpty());
    }

    private static CompositeDescriptor<Unordered> unordered() {
        return CompositeDescriptor.builder(Pipeline.TARGET, new Unordered(), UnorderedVariant.ONLY)
                .build();
    }

    /** Operations that have no id. */
    record Odd(String of, Optional<Object> value) {}

    enum OddVariant implements CompositeImplementation<Odd> {
        ONLY {
            @Override
            public ExecutionBody create(
                    CompositeDescriptor<Odd> descriptor, CreationContext creation)
                    throws CompileException {
                KernelDescriptor.Builder kernel =
                        KernelDescriptor.builder(descriptor.target(), "odd").source(A);
                switch (descriptor.operation().of) {
                    case "clock" ->
                        creation.kernel(
                                kernel.source("constant char at[] = __TIME__;").build());
                    case "reader" -> {
                        Primitive program = creation.kernel(kernel.build());
                        creation.scratchpad("names", program.kernels().size());
                    }
                    case "itself" -> creation.nested(descriptor);
                    case "elsewhere" ->
                        creation.kernel(
                                KernelDescriptor.builder(OTHER, "odd").source(A).build());
                    case "kernel" -> creation.kernel(kernel.build());
                    default -> {} // no kernel
                }
                return _ -> {};
            }
        }
    }

    private static String reason(String of, Object value) {
        Id id = CompositeDescriptor.builder(
                        Pipeline.TARGET, new Odd(of, Optional.of(value)), OddVariant.ONLY)
                .build()
                .getId();
        assertTrue(id.isEmpty(), of);
        return id.reason();
    }

    @Test
    @DisplayName("an id is empty, with the reason, if it could differ between processes or miss"
            + " a part")
    void notCacheable() {
        assertTrue(reason("nothing", 1).contains("no kernel"));
        assertTrue(reason("clock", 1).contains("__TIME__"), reason("clock", 1));
        assertTrue(reason("reader", 1).contains("reads the program odd"), reason("reader", 1));
        assertTrue(reason("itself", 1).contains("needs itself"));
        assertTrue(reason("elsewhere", 1).contains(OTHER.name()));
        String object = reason("kernel", new Object());
        assertTrue(object.contains("its operation.value is a java.lang.Object"), object);
        CompositeImplementation<Odd> lambda = (_, _) -> _ -> {};
        Id id = CompositeDescriptor.builder(
                        Pipeline.TARGET, new Odd("kernel", Optional.empty()), lambda)
                .build()
                .getId();
        assertTrue(id.reason().contains("its implementation is a "), id.reason());
        assertNotEquals("", id.reason());
    }
}
