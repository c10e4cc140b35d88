package dev.granary.it;

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
import dev.granary.coordinator.Preparation;
import dev.granary.coordinator.config.GranaryConfig;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A machine of a fleet, which prepares the same kernels as all others. Its engine waits instead of
 * computing, and writes a line for each compile to a file that all share.
 */
final class FleetProcess {
    private static final Target TARGET = new Target(Backend.OPENCL, "fleet", "Waiting", "1");

    /** Enough that the JVM has compiled what a lookup runs. */
    private static final int LOOKUPS_BEFORE = 150;

    private FleetProcess() {}

    /**
     * Arguments: the file of compiles; the number of kernels; the milliseconds of a compile;
     * whether to compile a kernel of its own first, as a machine that has run for a while. Begins
     * with the first byte of standard input. Prints {@code ready}, then the milliseconds of the
     * preparation, the number of kernels that were found, and of those that were compiled.
     */
    public static void main(String[] arguments) throws Exception {
        int kernels = Integer.parseInt(arguments[1]);
        WaitingEngine engine =
                new WaitingEngine(Path.of(arguments[0]), Long.parseLong(arguments[2]));
        try (Granary granary = Granary.open(GranaryConfig.fromEnvironment())) {
            granary.connect();
            if (Boolean.parseBoolean(arguments[3])) {
                int own = -Math.toIntExact(ProcessHandle.current().pid());
                for (int i = 0; i < LOOKUPS_BEFORE; i++) {
                    granary.find(engine, new Kernel(own - i));
                }
                granary.prepare(engine, List.of(new Kernel(own)), _ -> {}).get();
                granary.flush(Duration.ofMinutes(1));
            }
            System.out.println("ready");
            System.in.read();
            long start = System.nanoTime();
            Preparation done = granary.prepare(
                            engine,
                            IntStream.range(0, kernels).mapToObj(Kernel::new).toList(),
                            _ -> {})
                    .get();
            long millis = Duration.ofNanos(System.nanoTime() - start).toMillis();
            System.out.println(millis + " " + done.found() + " " + done.compiled());
        }
    }

    record Kernel(int number) implements PrimitiveDescriptor {
        @Override
        public String name() {
            return "kernel-" + number;
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

    record Code(
            PrimitiveDescriptor descriptor,
            Origin origin,
            KernelBinaries binaries,
            Duration compileTime)
            implements Primitive {
        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            return kind == BinaryKind.KERNEL ? binaries : KernelBinaries.none();
        }
    }

    record WaitingEngine(Path compiles, long millis) implements Engine<Kernel, Code> {
        @Override
        public Target target() {
            return TARGET;
        }

        @Override
        public Code create(Kernel kernel) {
            try {
                if (kernel.number() >= 0) {
                    Files.writeString(
                            compiles, kernel.name() + "\n", UTF_8, StandardOpenOption.APPEND);
                }
                Thread.sleep(millis);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return new Code(
                    kernel,
                    Primitive.Origin.COMPILED,
                    KernelBinaries.of(kernel.name().getBytes(UTF_8)),
                    Duration.ofMillis(millis));
        }

        @Override
        public Code create(Kernel kernel, KernelBinaries binaries, BinaryKind kind) {
            return new Code(kernel, Primitive.Origin.RESTORED, binaries, Duration.ZERO);
        }

        @Override
        public void close() {}
    }
}
