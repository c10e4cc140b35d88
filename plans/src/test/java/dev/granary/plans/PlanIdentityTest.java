package dev.granary.plans;

import static dev.granary.plans.Products.I;
import static dev.granary.plans.Products.II;
import static dev.granary.plans.Products.J;
import static dev.granary.plans.Products.JJ;
import static dev.granary.plans.Products.K;
import static dev.granary.plans.Products.KK;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.Geometry;
import dev.granary.plans.ArrayCache.CopyStrategy;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.LoopSchedule;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** Tests of the equality, the sources and the ids of plans. */
class PlanIdentityTest {
    private static final Target TARGET = new Target(Backend.OPENCL, "pocl", "device", "version");
    private static final DeviceLimits LIMITS =
            new DeviceLimits(1 << 20, 1 << 20, 4096, List.of(4096L, 4096L, 4096L), 2);

    private final Products products = Products.of(64, 64, 64);

    private static Id id(KernelPlan plan) {
        return plan.descriptor(TARGET, LIMITS).getId();
    }

    @Test
    @DisplayName("plans written in another order are equal and have one id")
    void order() {
        ArrayCache a = ArrayCache.of(products.a())
                .level(3)
                .location(MemoryLocation.LOCAL)
                .build();
        ArrayCache ofA = ArrayCache.of(a).level(1).build();
        ArrayCache b = ArrayCache.of(products.b()).index(KK).notThrifty().build();
        KernelPlan one = products.bound(16, 8, 4).cache(a).cache(ofA).cache(b);
        LoopSchedule other = products.nest()
                .schedule()
                .split(K, 4)
                .split(J, 8)
                .reorder(K, KK, J, I, JJ)
                .split(I, 16)
                .reorder(I, J, K, II, JJ, KK);
        KernelPlan two = KernelPlan.of(other)
                .bind(JJ, ParallelAxis.ITEM_X)
                .cache(ArrayCache.of(products.b()).level(1).notThrifty().build())
                .bind(J, ParallelAxis.GROUP_X)
                .cache(a)
                .bind(I, ParallelAxis.GROUP_Y)
                .cache(ArrayCache.of(a).index(KK).build())
                .bind(II, ParallelAxis.ITEM_Y);
        assertEquals(one.source(), two.source());
        assertEquals(one, two);
        assertEquals(one.hashCode(), two.hashCode());
        assertEquals(id(one), id(two));
        assertEquals(one.geometry(), two.geometry());
    }

    @Test
    @DisplayName("plans that differ in a cache, a tile, an axis or an order have other ids")
    void differences() {
        KernelPlan plan = products.bound(16, 8, 4);
        List<KernelPlan> all = List.of(
                plan,
                products.bound(16, 8, 8),
                KernelPlan.of(products.tiled(16, 8, 4)),
                plan.cache(ArrayCache.of(products.a()).level(1).notThrifty().build()),
                plan.cache(ArrayCache.of(products.a())
                        .level(1)
                        .location(MemoryLocation.LOCAL)
                        .build()),
                plan.cache(ArrayCache.of(products.a())
                        .level(3)
                        .strategy(CopyStrategy.BLOCKED)
                        .location(MemoryLocation.LOCAL)
                        .build()));
        for (KernelPlan one : all) {
            assertFalse(id(one).isEmpty());
            for (KernelPlan other : all) {
                if (one != other) {
                    assertNotEquals(id(one), id(other));
                    assertNotEquals(one, other);
                }
            }
        }
    }

    @Test
    @DisplayName("the geometry has the counts of the bound loops")
    void geometry() {
        assertEquals(
                new Geometry(List.of(256L, 144L), List.of(8L, 16L)),
                Products.of(130, 251, 11).bound(16, 8, 4).geometry());
        assertEquals(
                Geometry.of(1).local(1),
                KernelPlan.of(products.nest().schedule()).geometry());
    }

    /** A process that prints digests of the sources of random plans. */
    static final class Printer {
        private Printer() {}

        public static void main(String[] arguments) {
            System.out.print(digests());
        }

        static String digests() {
            return IntStream.range(0, 40)
                    .mapToObj(number -> new PlanGenerator(
                                    new SplittableRandom(number), "plan" + number)
                            .plan()
                            .source())
                    .map(String::hashCode)
                    .toList()
                    .toString();
        }
    }

    @Test
    @DisplayName("another process emits the same sources")
    void otherProcess() throws Exception {
        ChildJvm.Result result = ChildJvm.of(Printer.class).shortLived().run();
        assertEquals(0, result.exitCode(), result::err);
        assertEquals(Printer.digests(), result.out().strip());
    }
}
