package dev.granary.coordinator;

import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.gpu.composite.CompositeHandle;
import dev.granary.gpu.composite.MatMul;
import dev.granary.gpu.composite.Softmax;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;

import java.time.Duration;

/**
 * A process that obtains two composite primitives with five programs through Granary, runs them,
 * checks the results, and prints compiled programs, local hits and bucket hits. Its ids are printed
 * first.
 */
public final class CompositeProcess {
    private CompositeProcess() {}

    /** Runs with the configuration of the environment. */
    public static void main(String[] arguments) throws Exception {
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst());
                Granary granary = Granary.open(GranaryConfig.fromEnvironment())) {
            var product = MatMul.packed(engine.target(), 8, 12, 4);
            var softmax = Softmax.descriptor(engine.target(), 8, 16);
            System.out.println("ids=" + product.getId() + " " + softmax.getId());
            try (CompositeHandle first = granary.primitive(engine, product).open(engine);
                    CompositeHandle second = granary.primitive(engine, softmax).open(engine)) {
                MatMul.check(engine, first);
                Softmax.check(engine, second);
            }
            if (!granary.flush(Duration.ofMinutes(2))) {
                throw new IllegalStateException("not all entries are stored");
            }
            GranaryStatistics statistics = granary.statistics();
            System.out.println("counts=" + statistics.count(Counter.COMPILED) + " "
                    + statistics.count(Counter.LOCAL_HITS) + " "
                    + statistics.layers().stream()
                            .mapToLong(layer -> layer.count(Counter.LAYER_HITS))
                            .sum());
        }
    }
}
