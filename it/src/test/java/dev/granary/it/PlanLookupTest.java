package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.Gson;

import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.plans.ArrayCache;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.ParallelAxis;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Test of kernel plans through all tiers, each process on a machine of its own. */
@ExtendWith(WithDevice.class)
class PlanLookupTest {
    private static final int M = 13;
    private static final int N = 19;
    private static final int DEPTH = 11;

    @TempDir
    private Path directory;

    /** The order in which the calls of one plan are written. */
    enum Writing {
        /** Tiles, axes, caches. */
        FORWARD,
        /** The same calls from the last one on, as far as they permit it. */
        BACKWARD
    }

    /**
     * Result of a process.
     *
     * @param id the id of the plan
     * @param isRight whether the product is right
     * @param again whether the plan in the other writing was found in memory
     */
    record Result(
            String id, boolean isRight, boolean again, long compiled, long local, long bucket) {}

    /** A program that gets the kernel of a plan, and then that of the same plan written anew. */
    static final class Program {
        private static final LoopIndex I = LoopIndex.of("i");
        private static final LoopIndex J = LoopIndex.of("j");
        private static final LoopIndex K = LoopIndex.of("k");
        private static final KernelArray A = KernelArray.input("A", ElementType.FLOAT, M, DEPTH);
        private static final KernelArray B = KernelArray.input("B", ElementType.FLOAT, DEPTH, N);
        private static final KernelArray C = KernelArray.inputOutput("C", ElementType.FLOAT, M, N);

        private Program() {}

        private static KernelPlan plan(Writing writing) {
            LoopNest nest = LoopNest.named("gemm")
                    .loop(I, M)
                    .loop(J, N)
                    .loop(K, DEPTH)
                    .logic(C.at(I, J).add(A.at(I, K).times(B.at(K, J))));
            LoopIndex ii = I.inner();
            LoopIndex jj = J.inner();
            LoopIndex kk = K.inner();
            ArrayCache ofA =
                    ArrayCache.of(A).index(ii).location(MemoryLocation.LOCAL).build();
            ArrayCache ofC =
                    ArrayCache.of(C).index(K).location(MemoryLocation.PRIVATE).build();
            return switch (writing) {
                case FORWARD ->
                    KernelPlan.of(nest.schedule()
                                    .tile(I.by(4), J.by(8), K.by(4))
                                    .reorder(I, J, K, ii, jj, kk))
                            .bind(I, ParallelAxis.GROUP_Y)
                            .bind(J, ParallelAxis.GROUP_X)
                            .bind(ii, ParallelAxis.ITEM_Y)
                            .bind(jj, ParallelAxis.ITEM_X)
                            .cache(ofA)
                            .cache(ofC);
                case BACKWARD ->
                    KernelPlan.of(nest.schedule()
                                    .split(K, 4)
                                    .reorder(K, kk, J, I)
                                    .tile(J.by(8), I.by(4))
                                    .reorder(I, J, K, ii, jj, kk))
                            .cache(ofC)
                            .bind(jj, ParallelAxis.ITEM_X)
                            .bind(ii, ParallelAxis.ITEM_Y)
                            .bind(J, ParallelAxis.GROUP_X)
                            .cache(ofA)
                            .bind(I, ParallelAxis.GROUP_Y);
            };
        }

        private static KernelDescriptor descriptor(OpenClEngine engine, Writing writing) {
            return plan(writing).descriptor(engine.target(), engine.device().limits());
        }

        static void main(String[] arguments) throws Exception {
            Writing writing = Writing.valueOf(arguments[0]);
            Writing other = writing == Writing.FORWARD ? Writing.BACKWARD : Writing.FORWARD;
            Result result;
            try (Granary granary = Granary.open(GranaryConfig.fromEnvironment());
                    OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst())) {
                granary.connect();
                KernelDescriptor descriptor = descriptor(engine, writing);
                boolean isRight;
                try (LoadedKernels kernels = engine.load(granary.primitive(engine, descriptor))) {
                    isRight = isRight(engine, kernels, plan(writing));
                }
                boolean again =
                        granary.lookup(engine, descriptor(engine, other)).source()
                                == PrimitiveSource.MEMORY;
                if (!granary.flush(Duration.ofMinutes(2))) {
                    throw new IllegalStateException("the kernel was not published");
                }
                var statistics = granary.statistics();
                result = new Result(
                        descriptor.getId().toString(),
                        isRight,
                        again,
                        statistics.count(Counter.COMPILED),
                        statistics.count(Counter.LOCAL_HITS),
                        statistics.layers().stream()
                                .mapToLong(layer -> layer.count(Counter.LAYER_HITS))
                                .sum());
            }
            System.out.println(new Gson().toJson(result));
        }

        private static boolean isRight(
                OpenClEngine engine, LoadedKernels kernels, KernelPlan plan) {
            float[] a = numbers(M * DEPTH, 5);
            float[] b = numbers(DEPTH * N, 7);
            float[] found = new float[M * N];
            try (OpenClBuffer ofA = engine.bufferOf(a);
                    OpenClBuffer ofB = engine.bufferOf(b);
                    OpenClBuffer ofC = engine.bufferOf(found)) {
                kernels.launch(plan.name(), plan.geometry(), ofA, ofB, ofC);
                ofC.read(found);
            }
            float[] expected = new float[M * N];
            for (int i = 0; i < M; i++) {
                for (int j = 0; j < N; j++) {
                    for (int k = 0; k < DEPTH; k++) {
                        expected[i * N + j] += a[i * DEPTH + k] * b[k * N + j];
                    }
                }
            }
            return Arrays.equals(expected, found);
        }

        private static float[] numbers(int count, int period) {
            float[] numbers = new float[count];
            for (int i = 0; i < count; i++) {
                numbers[i] = i % period - 2;
            }
            return numbers;
        }
    }

    private Result run(String machine, Map<String, String> stores, Writing writing)
            throws Exception {
        Map<String, String> variables = new HashMap<>(stores);
        variables.put("GRANARY_DIR", directory.resolve(machine).toString());
        Path driverCache = Files.createDirectories(directory.resolve("pocl-" + machine));
        ChildJvm.Result result =
                GranaryProcess.jvm(Program.class, driverCache, variables).run(writing.name());
        assertEquals(0, result.exitCode(), result::toString);
        return new Gson().fromJson(result.out(), Result.class);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a plan is compiled once: on another machine, and offline, the same plan in"
            + " another order comes from the bucket and from the directory")
    void tiers() throws Exception {
        Result ci;
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("kernels");
            Map<String, String> online = Map.of(
                    "GRANARY_BUCKET", "s3://kernels/team",
                    "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                    "AWS_ACCESS_KEY_ID", server.accessKey(),
                    "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                    "AWS_REGION", "us-east-1");
            ci = run("ci", online, Writing.FORWARD);
            assertEquals(new Result(ci.id(), true, true, 1, 0, 0), ci);
            assertEquals(
                    new Result(ci.id(), true, true, 0, 0, 1),
                    run("node", online, Writing.BACKWARD));
        }
        assertEquals(
                new Result(ci.id(), true, true, 0, 1, 0), run("node", Map.of(), Writing.BACKWARD));
    }
}
