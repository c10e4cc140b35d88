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

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** An engine that counts its calls, with configurable results. */
public class FakeEngine implements Engine<FakeDescriptor, FakePrimitive> {
    /** The exit status of a process that its driver ended. */
    public static final int DEATH = 134;

    public final AtomicInteger compiles = new AtomicInteger();
    public final AtomicInteger restores = new AtomicInteger();
    private final String version;
    private final Target target;
    public volatile RestoreBehavior restoreBehavior = RestoreBehavior.ACCEPTS;
    public volatile BinariesTime binariesTime = BinariesTime.AT_ONCE;
    public volatile Runnable beforeCompile = () -> {};
    public volatile Runnable whenTaken = () -> {};
    public volatile List<Target> readable = List.of();

    /** Result of restoring binaries. */
    public enum RestoreBehavior {
        ACCEPTS,
        REFUSES,
        LACKS_KERNEL,
        RECOMPILES,
        THROWS,
        DIES
    }

    /** Time at which a compiled primitive returns its binaries. */
    public enum BinariesTime {
        AT_ONCE,
        AFTER_LAUNCH,
        NEVER
    }

    /** Creates an engine whose binaries contain {@code version}. */
    public FakeEngine(String version) {
        this(version, TestEntries.TARGET);
    }

    /** Creates an engine of another target. */
    public FakeEngine(String version, Target target) {
        this.version = version;
        this.target = target;
    }

    @Override
    public Target target() {
        return target;
    }

    @Override
    public List<Target> readableTargets() {
        return readable;
    }

    @Override
    public FakePrimitive create(FakeDescriptor descriptor) throws CompileException {
        compiles.incrementAndGet();
        beforeCompile.run();
        if (descriptor.name().startsWith("wrong")) {
            throw new CompileException("it does not compile", "line 1: error");
        }
        return create(
                descriptor,
                Origin.COMPILED,
                binariesTime == BinariesTime.NEVER
                        ? KernelBinaries.none()
                        : binaries(descriptor, version));
    }

    @Override
    public FakePrimitive create(FakeDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        restores.incrementAndGet();
        return switch (restoreBehavior) {
            case ACCEPTS -> create(descriptor, Origin.RESTORED, binaries);
            case RECOMPILES -> create(descriptor, Origin.RECOMPILED, binaries(descriptor, version));
            case REFUSES -> throw new RestoreException("not for this device");
            case LACKS_KERNEL -> throw RestoreException.missingKernel("no such kernel");
            case THROWS -> throw new IllegalArgumentException("this engine has a bug");
            case DIES -> {
                Runtime.getRuntime().halt(DEATH);
                throw new AssertionError("unreachable: the process has ended");
            }
        };
    }

    /** Restores as its own; the driver returns binaries of its own format, unless it has none. */
    @Override
    public FakePrimitive create(FakeDescriptor descriptor, KernelBinaries binaries, Target source)
            throws RestoreException {
        Origin origin = create(descriptor, binaries, BinaryKind.KERNEL).origin();
        return create(
                descriptor,
                origin,
                binariesTime == BinariesTime.NEVER
                        ? KernelBinaries.none()
                        : binaries(descriptor, version));
    }

    @Override
    public void close() {}

    public static KernelBinaries binaries(FakeDescriptor descriptor, String version) {
        return KernelBinaries.of((descriptor.name() + " by " + version).getBytes(UTF_8));
    }

    private FakePrimitive create(
            FakeDescriptor descriptor, Origin origin, KernelBinaries binaries) {
        FakePrimitive primitive =
                new FakePrimitive(descriptor, origin, binaries, () -> whenTaken.run());
        if (binariesTime != BinariesTime.AFTER_LAUNCH) {
            primitive.launch();
        }
        return primitive;
    }
}
