package dev.granary.benchmarks.start;

import static java.nio.charset.StandardCharsets.UTF_8;

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
import dev.granary.coordinator.config.GranaryConfigBuilder;

import java.time.Duration;

/**
 * A program with an engine of its own, whose compiles take a given time. Prints the nanoseconds of
 * opening with the first lookup, of that lookup, and of closing.
 */
final class StartProgram {
    private static final Target TARGET = new Target(new Backend("sleep"), "bench", "sleep", "1");

    private StartProgram() {}

    /**
     * Arguments: the local directory; the number of kernels; the milliseconds for each; those
     * between opening and the first lookup; the bucket, if there is one.
     */
    public static void main(String[] arguments) throws Exception {
        GranaryConfigBuilder builder = GranaryConfig.builder().directory(arguments[0]);
        if (arguments.length > 4) {
            builder.bucket(arguments[4]);
        }
        GranaryConfig config = builder.build();
        long pause = Long.parseLong(arguments[3]);
        long start = System.nanoTime();
        Granary granary = Granary.open(config);
        Thread.sleep(pause);
        long first = System.nanoTime();
        SleepingEngine engine = new SleepingEngine(Long.parseLong(arguments[2]));
        granary.primitive(engine, new Kernel(0));
        long found = System.nanoTime();
        for (int i = 1; i < Integer.parseInt(arguments[1]); i++) {
            granary.primitive(engine, new Kernel(i));
        }
        long last = System.nanoTime();
        granary.close();
        System.out.println(
                (found - start) + " " + (found - first) + " " + (System.nanoTime() - last));
    }

    private record Kernel(int number) implements PrimitiveDescriptor {
        @Override
        public String name() {
            return "kernel " + number;
        }

        @Override
        public Target target() {
            return TARGET;
        }

        @Override
        public Id getId() {
            return Id.builder(TARGET).field("number", number).build();
        }
    }

    private record Code(PrimitiveDescriptor descriptor, Origin origin, KernelBinaries binaries)
            implements Primitive {
        @Override
        public Duration compileTime() {
            return Duration.ofMillis(200);
        }

        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            return kind == BinaryKind.KERNEL ? binaries : KernelBinaries.none();
        }
    }

    private record SleepingEngine(long millis) implements Engine<Kernel, Code> {
        @Override
        public Target target() {
            return TARGET;
        }

        @Override
        public Code create(Kernel kernel) {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            byte[] binary = ("kernel " + kernel.number()).getBytes(UTF_8);
            return new Code(kernel, Primitive.Origin.COMPILED, KernelBinaries.of(binary));
        }

        @Override
        public Code create(Kernel kernel, KernelBinaries binaries, BinaryKind kind) {
            return new Code(kernel, Primitive.Origin.RESTORED, binaries);
        }

        @Override
        public void close() {}
    }
}
