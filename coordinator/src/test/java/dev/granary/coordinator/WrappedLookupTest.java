package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.LwjglContext;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClProgram;
import dev.granary.gpu.opencl.SpyDriver;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;

/** Tests of lookups for engines over the application's context, beside engines of their own. */
@NeedsPocl
class WrappedLookupTest {
    private static final Geometry LAUNCH = Geometry.of(64).local(16);

    private final Path directory;
    private final FakeBucket bucket = new FakeBucket();

    WrappedLookupTest(@TempDir Path directory) {
        this.directory = directory;
    }

    private TestNode machine(String name) {
        return new TestNode(directory.resolve(name), bucket);
    }

    /** Obtains the program, runs it, and returns where it came from. */
    private static PrimitiveSource use(Granary granary, OpenClEngine engine, int addend)
            throws Exception {
        KernelDescriptor descriptor = KernelDescriptor.builder(engine.target(), "add")
                .source("kernel void add(global float *a) { a[get_global_id(0)] += ADDEND; }")
                .options("-DADDEND=" + addend)
                .launch("add", LAUNCH)
                .build();
        LookupResult<KernelProgram> result = granary.lookup(engine, descriptor);
        float[] values = new float[64];
        values[7] = 1;
        float[] expected = new float[64];
        Arrays.fill(expected, addend);
        expected[7] = addend + 1;
        try (LoadedKernels kernels = engine.load(result.primitive());
                OpenClBuffer buffer = engine.bufferOf(values)) {
            kernels.launch("add", LAUNCH, buffer);
            buffer.read(values);
        }
        assertArrayEquals(expected, values);
        return result.source();
    }

    @Test
    @DisplayName("an engine over the application's context compiles nothing that an engine of"
            + " its own has stored, on this machine and on others, and the other way round")
    void share() throws Exception {
        SpyDriver own = new SpyDriver();
        SpyDriver wrapped = new SpyDriver();
        try (LwjglContext application = LwjglContext.inOrder()) {
            try (Granary granary = machine("one").open();
                    OpenClEngine engine = own.open();
                    OpenClEngine other = wrapped.wrap(application)) {
                assertEquals(PrimitiveSource.COMPILED, use(granary, engine, 1));
                assertEquals(PrimitiveSource.MEMORY, use(granary, other, 1));
                assertEquals(PrimitiveSource.COMPILED, use(granary, other, 2));
                assertTrue(granary.flush(TestNode.LONG));
            }
            assertEquals(1, own.compiles());
            assertEquals(1, wrapped.compiles());
            for (String machine : new String[] {"one", "two"}) {
                PrimitiveSource expected =
                        machine.equals("one") ? PrimitiveSource.LOCAL : PrimitiveSource.BUCKET;
                try (Granary granary = machine(machine).open();
                        OpenClEngine engine = wrapped.wrap(application);
                        OpenClEngine other = own.open()) {
                    assertEquals(expected, use(granary, engine, 1));
                    assertEquals(expected, use(granary, other, 2));
                    assertTrue(granary.flush(TestNode.LONG));
                }
            }
            assertEquals(1, own.compiles());
            assertEquals(1, wrapped.compiles());
        }
    }

    @Test
    @DisplayName("A native program runs in the application's own kernels after cache and engine are"
            + " closed, and a later process of the machine compiles nothing")
    void ownLaunches() throws Exception {
        SpyDriver driver = new SpyDriver();
        float[] zeros = new float[64];
        float[] ones = new float[64];
        Arrays.fill(ones, 1);
        try (LwjglContext application = LwjglContext.inOrder()) {
            for (int run = 0; run < 2; run++) {
                long program;
                try (Granary granary = machine("one").open();
                        OpenClEngine engine = driver.wrap(application)) {
                    KernelDescriptor descriptor = KernelDescriptor.builder(engine.target(), "one")
                            .source("kernel void one(global const float *a, global float *b)"
                                    + " { b[get_global_id(0)] = a[get_global_id(0)] + 1; }")
                            .build();
                    try (OpenClProgram found =
                            engine.program(granary.primitive(engine, descriptor))) {
                        program = found.retainHandle();
                        assertArrayEquals(ones, application.run(program, "one", zeros));
                        found.launched();
                    }
                    assertTrue(granary.flush(TestNode.LONG));
                }
                assertArrayEquals(ones, application.run(program, "one", zeros));
                LwjglContext.releaseProgram(program);
            }
            assertEquals(1, driver.compiles());
            assertEquals(1, driver.restores());
            assertEquals(Map.of(), driver.alive());
        }
    }
}
