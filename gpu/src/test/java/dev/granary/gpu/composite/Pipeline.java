package dev.granary.gpu.composite;

import dev.granary.cache.Backend;
import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;
import dev.granary.gpu.composite.MemoryDescriptor.DataType;

import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Operation with components of every type that has an encoding, whose kernels are its texts. It is
 * never run.
 */
record Pipeline(
        List<String> texts,
        Optional<Pipeline> nested,
        Mode mode,
        boolean truth,
        byte tiny,
        short small,
        int number,
        long large,
        char letter,
        float real,
        double precise,
        NavigableMap<String, Integer> named) {
    enum Mode {
        FAST,
        EXACT
    }

    /** An implementation with a parameter, which has two kernels and the nested pipeline. */
    record Stages(int tile) implements CompositeImplementation<Pipeline> {
        @Override
        public ExecutionBody create(
                CompositeDescriptor<Pipeline> descriptor, CreationContext creation)
                throws CompileException {
            creation.kernels(descriptor.operation().texts.stream()
                    .map(text -> KernelDescriptor.builder(descriptor.target(), "stage")
                            .source(text)
                            .build())
                    .toList());
            if (descriptor.operation().nested.isPresent()) {
                creation.nested(CompositeDescriptor.builder(
                                descriptor.target(),
                                descriptor.operation().nested.get(),
                                this)
                        .build());
            }
            return _ -> {};
        }
    }

    static final Target TARGET = new Target(Backend.OPENCL, "none", "one", "1");

    static Pipeline of(String... texts) {
        return new Pipeline(
                List.of(texts),
                Optional.empty(),
                Mode.FAST,
                true,
                (byte) 1,
                (short) 2,
                3,
                4,
                'c',
                0.5f,
                0.25,
                new TreeMap<>());
    }

    Pipeline around(Pipeline inner) {
        return new Pipeline(
                texts,
                Optional.of(inner),
                mode,
                truth,
                tiny,
                small,
                number,
                large,
                letter,
                real,
                precise,
                named);
    }

    static CompositeDescriptor.Builder<Pipeline> builder(Pipeline operation, int tile) {
        return CompositeDescriptor.builder(TARGET, operation, new Stages(tile))
                .attributes(Attributes.none()
                        .with("post", "relu")
                        .with("scales", 1, 2)
                        .with("zero", 3))
                .threads(4)
                .memory("weights", MemoryDescriptor.rowMajor(DataType.F32, 2, 3));
    }

    /** Returns a descriptor that uses every part of a key. */
    static CompositeDescriptor<Pipeline> sample() {
        return builder(
                        of("kernel void a() {}", "kernel void b() {}")
                                .around(of("kernel void c() {}")),
                        8)
                .between(TARGET, TARGET)
                .build();
    }
}
