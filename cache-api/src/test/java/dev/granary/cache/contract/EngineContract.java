package dev.granary.cache.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;

/**
 * The contract of every {@link Engine}, as a test suite. Subclasses implement the abstract methods.
 *
 * @param <D> the descriptors of the engine
 * @param <P> the primitives of the engine
 */
public abstract class EngineContract<D extends PrimitiveDescriptor, P extends Primitive> {
    private static final int THREADS = 8;

    private @Nullable Engine<D, P> opened;

    /** Opens an engine; each call one of the same target. */
    protected abstract Engine<D, P> openEngine() throws Exception;

    /** Returns a descriptor whose primitive has that result when it is used. */
    protected abstract D descriptor(Target target, int result);

    /** Returns a descriptor whose source does not compile. */
    protected abstract D wrong(Target target);

    /** Uses a primitive on the engine, and returns its result. */
    protected abstract int use(Engine<D, P> engine, P primitive) throws Exception;

    @BeforeEach
    void open() throws Exception {
        opened = openEngine();
    }

    @AfterEach
    void close() {
        if (opened != null) {
            opened.close();
        }
    }

    private Engine<D, P> engine() {
        return Objects.requireNonNull(opened);
    }

    private Target target() {
        return engine().target();
    }

    @Test
    @DisplayName("A compiled primitive has its descriptor, kernels, compile time and binaries, and"
            + " computes")
    void compiled() throws Exception {
        D descriptor = descriptor(target(), 3);
        P primitive = engine().create(descriptor);
        assertEquals(Primitive.Origin.COMPILED, primitive.origin());
        assertEquals(descriptor, primitive.descriptor());
        assertFalse(primitive.kernels().isEmpty());
        assertEquals(3, use(engine(), primitive));
        assertTrue(primitive.getBinaries(BinaryKind.KERNEL).byteSize() > 0);
        assertTrue(primitive.compileTime().isPositive());
    }

    @Test
    @DisplayName("Another engine of the target restores the binaries: nothing is compiled, and it"
            + " computes the same; binaries of two primitives never mix")
    void restored() throws Exception {
        try (Engine<D, P> other = openEngine()) {
            assertEquals(target(), other.target());
            KernelBinaries three = binaries(engine(), descriptor(target(), 3));
            KernelBinaries four = binaries(engine(), descriptor(target(), 4));
            P restoredThree = other.create(descriptor(other.target(), 3), three, BinaryKind.KERNEL);
            P restoredFour = other.create(descriptor(other.target(), 4), four, BinaryKind.KERNEL);
            assertEquals(Primitive.Origin.RESTORED, restoredThree.origin());
            assertEquals(Duration.ZERO, restoredThree.compileTime());
            assertEquals(three, restoredThree.getBinaries(BinaryKind.KERNEL));
            assertEquals(3, use(other, restoredThree));
            assertEquals(4, use(other, restoredFour));
        }
    }

    private KernelBinaries binaries(Engine<D, P> engine, D descriptor) throws Exception {
        P primitive = engine.create(descriptor);
        use(engine, primitive);
        return primitive.getBinaries(BinaryKind.KERNEL);
    }

    @Test
    @DisplayName("Ids are equal for equal sources, differ for others, and are of the target")
    void ids() {
        D descriptor = descriptor(target(), 3);
        assertEquals(target(), descriptor.target());
        assertEquals(target(), descriptor.getId().target());
        assertEquals(descriptor, descriptor(target(), 3));
        assertEquals(descriptor.hashCode(), descriptor(target(), 3).hashCode());
        assertEquals(descriptor.getId(), descriptor(target(), 3).getId());
        assertNotEquals(descriptor, descriptor(target(), 4));
        assertNotEquals(descriptor.getId(), descriptor(target(), 4).getId());
    }

    @Test
    @DisplayName("A descriptor of another target has an id of that target, and is refused")
    void otherTarget() {
        Target other = new Target(target().backend(), "other vendor", "other device", "1");
        D descriptor = descriptor(other, 3);
        assertEquals(other, descriptor.target());
        assertEquals(other, descriptor.getId().target());
        assertNotEquals(descriptor(target(), 3), descriptor);
        engine().requireTarget(descriptor(target(), 3));
        assertThrows(IllegalArgumentException.class, () -> engine().requireTarget(descriptor));
    }

    @Test
    @DisplayName("Binaries that the driver cannot use, none, and those of another kind are refused")
    void refused() {
        D descriptor = descriptor(target(), 3);
        KernelBinaries text =
                KernelBinaries.of("these are no binaries".getBytes(StandardCharsets.UTF_8));
        for (BinaryKind kind : BinaryKind.values()) {
            for (KernelBinaries wrong : new KernelBinaries[] {KernelBinaries.none(), text}) {
                assertThrows(
                        RestoreException.class, () -> engine().create(descriptor, wrong, kind));
            }
        }
    }

    @Test
    @DisplayName("A source that does not compile is a CompileException with the compiler's output")
    void wrongSource() {
        CompileException failure =
                assertThrows(CompileException.class, () -> engine().create(wrong(target())));
        assertFalse(failure.buildLog().isBlank());
        String message = String.valueOf(failure.getMessage());
        assertEquals(1, message.lines().count(), "the first error only: " + message);
        assertTrue(message.startsWith(failure.reason() + ": "), message);
    }

    @Test
    @DisplayName("Several threads compile and use primitives of one engine at once")
    void threads() throws Exception {
        try (var pool = Executors.newFixedThreadPool(THREADS)) {
            var all = IntStream.range(0, THREADS)
                    .mapToObj(i -> CompletableFuture.runAsync(
                            () -> {
                                try {
                                    D descriptor = descriptor(target(), i);
                                    assertEquals(i, use(engine(), engine().create(descriptor)));
                                } catch (Exception e) {
                                    throw new AssertionError(e);
                                }
                            },
                            pool))
                    .toArray(CompletableFuture<?>[]::new);
            CompletableFuture.allOf(all).get();
        }
    }
}
