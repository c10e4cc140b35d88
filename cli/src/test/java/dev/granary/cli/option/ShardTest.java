package dev.granary.cli.option;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.TestKernels;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import picocli.CommandLine.TypeConversionException;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/** Tests of the parts of a manifest. */
class ShardTest {
    private static KernelSpec kernel(String name) {
        return TestKernels.of(name, Path.of("/k.cl"));
    }

    @Test
    @DisplayName("Every kernel is in exactly one of N parts, in the order of the manifest, wherever"
            + " it stands there")
    void everyKernelOnce() {
        Random random = Random.from(TestSeed.random("ShardTest"));
        for (int round = 0; round < 200; round++) {
            List<KernelSpec> kernels = new ArrayList<>();
            for (int i = random.nextInt(100); i >= 0; i--) {
                kernels.add(kernel("k" + i + "-" + random.nextLong()));
            }
            int count = 1 + random.nextInt(20);
            List<KernelSpec> shuffled = new ArrayList<>(kernels);
            Collections.shuffle(shuffled, random);
            List<KernelSpec> all = new ArrayList<>();
            for (int number = 1; number <= count; number++) {
                List<KernelSpec> part = new Shard(number, count).of(kernels);
                assertEquals(part, kernels.stream().filter(part::contains).toList(), "order");
                assertEquals(Set.copyOf(part), Set.copyOf(new Shard(number, count).of(shuffled)));
                all.addAll(part);
            }
            assertEquals(kernels.size(), all.size());
            assertEquals(Set.copyOf(kernels), new HashSet<>(all));
        }
    }

    @Test
    @DisplayName("The division is the same on every machine and in every version")
    void stable() {
        assertEquals(
                List.of("1/4", "2/4", "4/4", "4/4", "3/4"),
                List.of("", "saxpy", "gemm-TILE=8", "blas/gemm", "k\u00e9rnel").stream()
                        .map(ShardTest::partOfFour)
                        .toList());
        assertEquals(List.of(), Shard.WHOLE.of(List.of()));
        for (String wrong : List.of("0/4", "5/4", "1", "1/0", "-1/4", "1/4/4")) {
            assertThrows(TypeConversionException.class, () -> new Shard.Converter().convert(wrong));
        }
    }

    private static String partOfFour(String name) {
        for (int number = 1; number <= 4; number++) {
            if (new Shard(number, 4).has(name)) {
                return number + "/4";
            }
        }
        return "none";
    }
}
