package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeCache.KernelProvider;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** Tests of the parts that a creation obtains in parallel, without a driver. */
class PlannedPartsTest {
    private static final int AT_ONCE = 16;

    /** A program of nothing. */
    private record NoProgram(KernelDescriptor descriptor) implements KernelProgram {
        @Override
        public Origin origin() {
            return Origin.RESTORED;
        }

        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            return KernelBinaries.of(descriptor.getId().bytes());
        }

        @Override
        public Duration compileTime() {
            return Duration.ZERO;
        }

        @Override
        public List<String> kernels() {
            return List.of();
        }

        @Override
        public List<String> geometries() {
            return List.of();
        }

        @Override
        public void onBinariesComplete(Runnable action) {
            action.run();
        }
    }

    /** A provider that waits until as many programs are requested at once as are allowed. */
    private static final class MeetingProvider implements KernelProvider {
        private final CyclicBarrier meeting = new CyclicBarrier(AT_ONCE);
        private final AtomicInteger running = new AtomicInteger();
        private final AtomicInteger most = new AtomicInteger();

        @Override
        public KernelProgram kernel(KernelEngine engine, KernelDescriptor wanted) {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            try {
                meeting.await();
            } catch (InterruptedException | BrokenBarrierException e) {
                throw new IllegalStateException(e);
            }
            running.decrementAndGet();
            return new NoProgram(wanted);
        }
    }

    @Test
    @DisplayName("48 programs are obtained 16 at once; binaries are in the order of the ids")
    void bounded() throws Exception {
        MeetingProvider provider = new MeetingProvider();
        CompositeDescriptor<Pipeline> descriptor = Pipeline.builder(
                        Pipeline.of(IntStream.range(0, 3 * AT_ONCE)
                                .mapToObj(i -> "kernel void k" + i + "() {}")
                                .toArray(String[]::new)),
                        8)
                .build();
        CompositePrimitive primitive = new CompositeCache(new PrimitiveCache<>(10), provider)
                .primitive(EngineSet.of(new NoKernelEngine(Pipeline.TARGET)), descriptor);
        assertEquals(AT_ONCE, provider.most.get());
        assertEquals(3 * AT_ONCE, primitive.programs().size());
        List<byte[]> ids = primitive.programs().stream()
                .map(program -> program.descriptor().getId())
                .sorted(Comparator.comparing(id -> id.hash().hex()))
                .map(Id::bytes)
                .toList();
        assertEquals(
                KernelBinaries.of(ids.toArray(byte[][]::new)),
                primitive.getBinaries(BinaryKind.KERNEL));
    }
}
