package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;

/**
 * Operation that multiplies each number with its scale and replaces negative results by zero. The
 * scales are an attribute and are in constant memory.
 */
record Activation(int count) {
    /** The implementation. */
    enum Variant implements CompositeImplementation<Activation> {
        SCALED {
            @Override
            public ExecutionBody create(
                    CompositeDescriptor<Activation> descriptor, CreationContext creation)
                    throws CompileException {
                return Activation.create(descriptor, creation);
            }
        }
    }

    static CompositeDescriptor<Activation> descriptor(
            Target target, int count, Attributes attributes) {
        return CompositeDescriptor.builder(target, new Activation(count), Variant.SCALED)
                .attributes(attributes)
                .build();
    }

    private static ExecutionBody create(
            CompositeDescriptor<Activation> descriptor, CreationContext creation)
            throws CompileException {
        float[] scales = descriptor.attributes().floats("scales");
        Geometry geometry = Geometry.of(descriptor.operation().count).local(4);
        KernelProgram program =
                creation.kernel(KernelDescriptor.builder(descriptor.target(), "activation")
                        .source("""
                            kernel void activation(global const float* from, global float* to, \
                            global const float* scales, int count) {
                                int i = get_global_id(0);
                                to[i] = fmax(0.0f, from[i] * scales[i % count]);
                            }
                            """)
                        .launch("activation", geometry)
                        .build());
        creation.constant("scales", scales);
        return run -> run.launch(
                program,
                "activation",
                geometry,
                run.argument("from"),
                run.argument("to"),
                run.constant("scales"),
                scales.length);
    }
}
