package dev.granary.cli.kernel;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;

import java.time.Duration;

/** An engine whose compiles take time and no processor, as on a machine of their own. */
public class SleepingEngine implements Engine<KernelDescriptor, SleepingEngine.Program> {
    static final Duration COMPILE_TIME = Duration.ofSeconds(1);

    /** A program whose binary is its source. */
    public record Program(
            KernelDescriptor descriptor,
            Origin origin,
            KernelBinaries binaries,
            Duration compileTime)
            implements Primitive {
        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            return kind == BinaryKind.KERNEL ? binaries : KernelBinaries.none();
        }
    }

    /** The same with a newer driver. */
    public static class Newer extends SleepingEngine {
        @Override
        public Target target() {
            return new Target(new Backend("sleeping"), "none", "none", "2");
        }
    }

    @Override
    public Target target() {
        return new Target(new Backend("sleeping"), "none", "none", "1");
    }

    @Override
    public Program create(KernelDescriptor descriptor) throws CompileException {
        try {
            Thread.sleep(COMPILE_TIME);
        } catch (InterruptedException e) {
            throw new CompileException("interrupted", "");
        }
        byte[] binary = String.join("\n", descriptor.sources()).getBytes(UTF_8);
        return new Program(
                descriptor, Primitive.Origin.COMPILED, KernelBinaries.of(binary), COMPILE_TIME);
    }

    @Override
    public Program create(KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind) {
        return new Program(descriptor, Primitive.Origin.RESTORED, binaries, Duration.ZERO);
    }

    @Override
    public void close() {}
}
