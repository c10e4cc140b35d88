package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;
import dev.granary.gpu.composite.MemoryDescriptor.DataType;

/** Operation that changes a matrix from row order to column order, also between two engines. */
record Reorder(int rows, int columns) {
    /** The implementations. */
    enum Variant implements CompositeImplementation<Reorder> {
        /** Uses one engine only. */
        ONE_ENGINE {
            @Override
            public ExecutionBody create(
                    CompositeDescriptor<Reorder> descriptor, CreationContext creation)
                    throws CompileException {
                KernelProgram program = creation.kernel(transpose(descriptor));
                return run -> run.launch(
                        program,
                        "transpose",
                        geometry(descriptor),
                        run.argument("from"),
                        run.argument("to"));
            }
        },
        /** Runs on the main engine; data of the other engine is copied through the scratchpad. */
        BETWEEN {
            @Override
            public ExecutionBody create(
                    CompositeDescriptor<Reorder> descriptor, CreationContext creation)
                    throws CompileException {
                KernelProgram program = creation.kernel(transpose(descriptor));
                long bytes = MemoryDescriptor.rowMajor(
                                DataType.F32,
                                descriptor.operation().rows,
                                descriptor.operation().columns)
                        .bytes();
                creation.scratchpad("read", bytes);
                creation.scratchpad("written", bytes);
                return run -> {
                    DeviceBuffer read = run.scratchpad("read");
                    DeviceBuffer written = run.scratchpad("written");
                    run.copy(run.argument("from"), read);
                    run.launch(program, "transpose", geometry(descriptor), read, written);
                    run.copy(written, run.argument("to"));
                };
            }
        };

        private static Geometry geometry(CompositeDescriptor<Reorder> descriptor) {
            return Geometry.of(descriptor.operation().columns, descriptor.operation().rows)
                    .local(4, 4);
        }

        private static KernelDescriptor transpose(CompositeDescriptor<Reorder> descriptor) {
            return KernelDescriptor.builder(descriptor.target(), "transpose")
                    .source("""
                        kernel void transpose(global const float* from, global float* to) {
                            int column = get_global_id(0), row = get_global_id(1);
                            to[column * get_global_size(1) + row] = \
                        from[row * get_global_size(0) + column];
                        }
                        """)
                    .launch("transpose", geometry(descriptor))
                    .build();
        }
    }

    static CompositeDescriptor<Reorder> descriptor(Target target, int rows, int columns) {
        return CompositeDescriptor.builder(target, new Reorder(rows, columns), Variant.ONE_ENGINE)
                .build();
    }

    static CompositeDescriptor<Reorder> between(
            Target main, Target source, Target destination, int rows, int columns) {
        return CompositeDescriptor.builder(main, new Reorder(rows, columns), Variant.BETWEEN)
                .between(source, destination)
                .build();
    }
}
