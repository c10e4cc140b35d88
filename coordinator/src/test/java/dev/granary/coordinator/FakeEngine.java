package dev.granary.coordinator;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive.Origin;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import java.util.concurrent.atomic.AtomicInteger;

/** An engine that counts, and does with binaries what it is told. */
public final class FakeEngine implements Engine<FakeDescriptor, FakePrimitive> {
    /** The exit status of a process whose driver died. */
    static final int DEATH = 134;

    public final AtomicInteger compiles = new AtomicInteger();
    public final AtomicInteger restores = new AtomicInteger();
    private final String version;
    public volatile Restores restoring = Restores.ACCEPTS;
    public volatile Binaries giving = Binaries.AT_ONCE;
    public volatile Runnable beforeCompile = () -> {};

    /** What becomes of binaries. */
    public enum Restores {
        ACCEPTS,
        REFUSES,
        RECOMPILES,
        THROWS,
        DIES
    }

    /** When a compiled primitive gives its binaries. */
    public enum Binaries {
        AT_ONCE,
        AFTER_LAUNCH,
        NEVER
    }

    /** An engine whose binaries tell {@code version}. */
    public FakeEngine(String version) {
        this.version = version;
    }

    @Override
    public Target target() {
        return TestEntries.TARGET;
    }

    @Override
    public FakePrimitive create(FakeDescriptor descriptor) throws CompileException {
        compiles.incrementAndGet();
        beforeCompile.run();
        if (descriptor.name().startsWith("wrong")) {
            throw new CompileException("it does not compile", "line 1: error");
        }
        return made(descriptor, Origin.COMPILED, giving == Binaries.NEVER ? KernelBinaries.none() : binaries(descriptor, version));
    }

    @Override
    public FakePrimitive create(FakeDescriptor descriptor, KernelBinaries binaries, BinaryKind kind) throws RestoreException {
        restores.incrementAndGet();
        return switch (restoring) {
            case ACCEPTS -> made(descriptor, Origin.RESTORED, binaries);
            case RECOMPILES -> made(descriptor, Origin.RECOMPILED, binaries(descriptor, version));
            case REFUSES -> throw new RestoreException("not for this device");
            case THROWS -> throw new IllegalArgumentException("this engine has a bug");
            case DIES -> {
                Runtime.getRuntime().halt(DEATH);
                throw new AssertionError("it is dead");
            }
        };
    }

    @Override
    public void close() {}

    public static KernelBinaries binaries(FakeDescriptor descriptor, String version) {
        return KernelBinaries.of((descriptor.name() + " by " + version).getBytes(UTF_8));
    }

    private FakePrimitive made(FakeDescriptor descriptor, Origin origin, KernelBinaries binaries) {
        FakePrimitive primitive = new FakePrimitive(descriptor, origin, binaries);
        if (giving != Binaries.AFTER_LAUNCH) {
            primitive.launch();
        }
        return primitive;
    }
}
