package dev.granary.it.installed;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;

import java.time.Duration;
import java.util.List;

/** A program with primitives of its own, without a device, that gets one through the cache. */
final class QuietProgram {
    private static final Target TARGET = new Target(Backend.OPENCL, "acme", "one", "1.0");

    private QuietProgram() {}

    /** Descriptor of the primitive. */
    private record Text(String name) implements PrimitiveDescriptor {
        @Override
        public Id getId() {
            return Id.builder(TARGET).field("text", name).build();
        }

        @Override
        public Target target() {
            return TARGET;
        }
    }

    /** The primitive: its binary is a kilobyte of zeros. */
    private record Compiled(Text descriptor, Origin origin) implements Primitive {
        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            return KernelBinaries.of(new byte[1024]);
        }

        @Override
        public Duration compileTime() {
            return Duration.ofSeconds(1);
        }

        @Override
        public List<String> kernels() {
            return List.of(descriptor.name());
        }
    }

    /** The engine. */
    private static final class TextEngine implements Engine<Text, Compiled> {
        @Override
        public Target target() {
            return TARGET;
        }

        @Override
        public Compiled create(Text descriptor) {
            return new Compiled(descriptor, Primitive.Origin.COMPILED);
        }

        @Override
        public Compiled create(Text descriptor, KernelBinaries binaries, BinaryKind kind) {
            return new Compiled(descriptor, Primitive.Origin.RESTORED);
        }

        @Override
        public void close() {}
    }

    /** Gets the primitive, and prints where it came from. */
    public static void main(String[] arguments) throws Exception {
        try (Granary granary = Granary.open(GranaryConfig.fromEnvironment());
                TextEngine engine = new TextEngine()) {
            System.out.println(granary.lookup(engine, new Text("quiet")).source());
            if (!granary.flush(Duration.ofMinutes(1))) {
                throw new IllegalStateException("not stored");
            }
        }
    }
}
