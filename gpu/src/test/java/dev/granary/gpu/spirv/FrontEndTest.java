package dev.granary.gpu.spirv;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Engine.StepProvider;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.SampleBinaries;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Tests of the choice between kept intermediate programs and those of a compiler. */
class FrontEndTest {
    private static final byte[] MODULE = SampleBinaries.bytes("saxpy.spv");
    private static final byte[] OTHER = SpirvModules.ofOtherKernel(MODULE);
    private static final KernelDescriptor KERNEL = KernelDescriptor.builder(
                    new Target(Backend.LEVEL_ZERO, "intel", "GPU id 0x1", "1"), "k")
            .environment(Map.of())
            .source("kernel void saxpy() {}")
            .build();

    private final Store store = new Store();
    private int compiles;
    private int deviceCompiles;
    private byte[] made = MODULE;

    /** A cache in a map. */
    private final class Store implements StepProvider {
        private final Map<Id, KernelBinaries> entries = new HashMap<>();
        private final List<String> replaced = new ArrayList<>();

        @Override
        public <D extends PrimitiveDescriptor, P extends Primitive> P lookup(
                Engine<D, P> engine, D descriptor) throws CompileException {
            KernelBinaries kept = entries.get(descriptor.getId());
            try {
                if (kept != null) {
                    return engine.create(descriptor, kept, BinaryKind.KERNEL);
                }
            } catch (RestoreException e) {
                throw new AssertionError(e);
            }
            P compiled = engine.create(descriptor);
            entries.put(descriptor.getId(), compiled.getBinaries(BinaryKind.KERNEL));
            return compiled;
        }

        @Override
        public void replaced(Primitive refused, Primitive compiled) {
            assertEquals(refused.descriptor(), compiled.descriptor());
            entries.put(refused.descriptor().getId(), compiled.getBinaries(BinaryKind.KERNEL));
            replaced.add(refused.origin() + " by " + compiled.origin());
        }
    }

    private FrontEnd frontEnd(SpirvCompiler.Presence presence) {
        return new FrontEnd(new SpirvCompiler() {
            @Override
            public byte[] compile(KernelDescriptor descriptor) throws CompileException {
                if (presence instanceof Presence.Absent) {
                    throw new CompileException("no compiler", "");
                }
                compiles++;
                return made;
            }

            @Override
            public Presence presence() {
                return presence;
            }
        });
    }

    private FrontEnd installed(String identity) {
        return frontEnd(new SpirvCompiler.Presence.Installed(identity));
    }

    private static byte[] accept(MemorySegment module) {
        return module.toArray(ValueLayout.JAVA_BYTE);
    }

    private byte[] refuseOther(MemorySegment module) throws CompileException {
        deviceCompiles++;
        if (Arrays.equals(accept(module), OTHER)) {
            throw new CompileException("refused", "");
        }
        return accept(module);
    }

    private void keep(byte[] module, String frontEnd) {
        store.entries.put(
                IntermediateDescriptor.of(KERNEL).getId(),
                KernelBinaries.of(module, frontEnd.getBytes(UTF_8)));
    }

    @Test
    @DisplayName("a module of the application is compiled as it is: no compiler runs, and nothing"
            + " is kept beside the binary")
    void moduleOfApplication() throws Exception {
        KernelDescriptor kernel = KernelDescriptor.builder(KERNEL.target(), "k")
                .environment(Map.of())
                .spirv(OTHER)
                .build();
        for (SpirvCompiler.Presence presence : List.of(
                new SpirvCompiler.Presence.Installed("a 1"),
                new SpirvCompiler.Presence.Absent(),
                new SpirvCompiler.Presence.Unidentified())) {
            FrontEnd frontEnd = frontEnd(presence);
            assertArrayEquals(OTHER, frontEnd.compile(kernel, FrontEndTest::accept));
            assertArrayEquals(OTHER, frontEnd.compile(kernel, store, FrontEndTest::accept));
            assertThrows(
                    CompileException.class,
                    () -> frontEnd.compile(kernel, store, this::refuseOther));
        }
        assertEquals(3, deviceCompiles);
        assertEquals(0, compiles);
        assertEquals(Map.of(), store.entries);
    }

    @Test
    @DisplayName("a machine with a compiler uses the programs of that compiler, each compiled"
            + " once; one without uses the first")
    void compilers() throws Exception {
        for (int i = 0; i < 2; i++) {
            installed("a 1").compile(KERNEL, store, FrontEndTest::accept);
            assertEquals(1, compiles);
        }
        for (int i = 0; i < 2; i++) {
            installed("a 2").compile(KERNEL, store, FrontEndTest::accept);
            assertEquals(2, compiles);
        }
        frontEnd(new SpirvCompiler.Presence.Absent()).compile(KERNEL, store, FrontEndTest::accept);
        assertEquals(2, compiles);
        assertEquals(2, store.entries.size());
        IntermediateProgram first =
                store.lookup(installed("a 3"), IntermediateDescriptor.of(KERNEL));
        assertEquals("a 1", first.frontEnd());
        assertEquals(List.of("saxpy"), first.kernels());
    }

    @Test
    @DisplayName("programs of a compiler without an identity are neither kept nor looked up")
    void unidentified() throws Exception {
        keep(OTHER, "a 1");
        assertArrayEquals(
                MODULE,
                frontEnd(new SpirvCompiler.Presence.Unidentified())
                        .compile(KERNEL, store, FrontEndTest::accept));
        assertEquals(1, compiles);
        assertEquals(1, store.entries.size());
        SpirvCompiler lambda = descriptor -> MODULE;
        assertTrue(lambda.presence() instanceof SpirvCompiler.Presence.Unidentified);
    }

    @Test
    @DisplayName("a kept program that the device refuses is replaced, but only by another one"
            + " that it accepts")
    void refused() throws Exception {
        keep(OTHER, "a 1");
        FrontEnd absent = frontEnd(new SpirvCompiler.Presence.Absent());
        CompileException byDevice = assertThrows(
                CompileException.class, () -> absent.compile(KERNEL, store, this::refuseOther));
        assertEquals("refused", byDevice.getMessage());
        made = OTHER; // the source itself is refused
        assertThrows(CompileException.class, () -> installed("a 1")
                .compile(KERNEL, store, this::refuseOther));
        assertEquals(1, compiles);
        assertEquals(2, deviceCompiles, "an equal module is not tried twice");
        assertEquals(List.of(), store.replaced);
        made = MODULE;
        assertArrayEquals(MODULE, installed("a 1").compile(KERNEL, store, this::refuseOther));
        assertEquals(List.of("RESTORED by COMPILED"), store.replaced);
        assertEquals(2, compiles);
        installed("a 1").compile(KERNEL, store, this::refuseOther);
        assertEquals(2, compiles);
    }

    @Test
    @DisplayName("a fresh program that the device refuses is compiled once only")
    void freshRefused() {
        made = OTHER;
        assertThrows(CompileException.class, () -> installed("a 1")
                .compile(KERNEL, store, this::refuseOther));
        assertEquals(1, compiles);
    }

    @Test
    @DisplayName("a program of a compiler that was updated meanwhile is not kept")
    void updated() throws Exception {
        FrontEnd frontEnd = new FrontEnd(new SpirvCompiler() {
            @Override
            public byte[] compile(KernelDescriptor descriptor) {
                compiles++;
                return made;
            }

            @Override
            public Presence presence() {
                return new Presence.Installed("a " + compiles);
            }
        });
        IntermediateDescriptor descriptor = IntermediateDescriptor.of(KERNEL);
        assertTrue(frontEnd.create(descriptor).getBinaries(BinaryKind.KERNEL).isEmpty());
        IntermediateProgram sound = installed("a 1").create(descriptor);
        assertEquals(2, sound.getBinaries(BinaryKind.KERNEL).segments().size());
        assertTrue(sound.getBinaries(BinaryKind.PRIMITIVE).isEmpty());
    }

    @Test
    @DisplayName("a program is restored only under a key of its front end, or of none")
    void otherKey() throws Exception {
        IntermediateDescriptor first = IntermediateDescriptor.of(KERNEL);
        KernelBinaries kept = KernelBinaries.of(MODULE, "a 1".getBytes(UTF_8));
        FrontEnd frontEnd = installed("a 2");
        frontEnd.create(first, kept, BinaryKind.KERNEL);
        frontEnd.create(first.by("a 1"), kept, BinaryKind.KERNEL);
        assertThrows(
                RestoreException.class,
                () -> frontEnd.create(first.by("a 2"), kept, BinaryKind.KERNEL));
        assertThrows(
                RestoreException.class, () -> frontEnd.create(first, kept, BinaryKind.PRIMITIVE));
        assertThrows(
                RestoreException.class,
                () -> frontEnd.create(first, KernelBinaries.of(MODULE), BinaryKind.KERNEL));
    }
}
