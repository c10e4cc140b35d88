package dev.granary.coordinator;

import dev.granary.cache.Target;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositeImplementation;

/**
 * Primitives with different names that use one program.
 *
 * @param name the name of the primitive
 */
record SharedProgramPrimitives(String name) {
    private static final CompositeImplementation<SharedProgramPrimitives> SHARING =
            (descriptor, creation) -> {
                KernelProgram program = creation.kernel(program(descriptor.target()));
                return run ->
                        run.launch(program, "twin", Geometry.of(4).local(4), run.argument("to"));
            };

    static CompositeDescriptor<SharedProgramPrimitives> descriptor(Target target, String name) {
        return CompositeDescriptor.builder(target, new SharedProgramPrimitives(name), SHARING)
                .build();
    }

    static KernelDescriptor program(Target target) {
        return builder(target).build();
    }

    static KernelDescriptor notCacheable(Target target) {
        return builder(target).header("clock.clh", "#define NOW __TIME__").build();
    }

    private static KernelDescriptor.Builder builder(Target target) {
        return KernelDescriptor.builder(target, "twin")
                .source("kernel void twin(global int* to) { to[get_global_id(0)] = 1; }")
                .launch("twin", Geometry.of(4).local(4));
    }
}
