package dev.granary.s3.probe;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.DeviatingObjectStore;
import dev.granary.s3.contract.DeviatingObjectStore.Deviation;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests that a probe recognises and removes its own objects, and nothing else. */
class ProbeObjectsTest {
    private final BucketLayout layout =
            new BucketLayout(S3Config.builder("bucket").build().location());
    private final SplittableRandom random = TestSeed.random("ProbeObjectsTest");

    private CapabilityProbe probe(MemoryObjectStore store) {
        return new CapabilityProbe(store, layout, new TestTicker(), random);
    }

    @Test
    @DisplayName("a probe keeps the objects of others below trial/, and everything else, also if"
            + " deletions ignore their condition")
    void onlyItsOwn() {
        for (MemoryObjectStore store : List.of(
                new MemoryObjectStore(),
                new DeviatingObjectStore(Deviation.IGNORES_CONDITIONAL_DELETE))) {
            store.place(layout.probeObject("another-probe-0"), new byte[1]);
            store.place(layout.root() + "opencl/some/e/00/entry", new byte[1]);
            store.place(layout.marker(), new byte[1]);
            List<String> before = store.keys();
            assertInstanceOf(ProbeResult.Probed.class, probe(store).run());
            assertTrue(store.requests().contains("DELETE"));
            assertEquals(before, store.keys());
        }
    }

    @Test
    @DisplayName("a server that answers every second deletion with 503: ten probes leave nothing;"
            + " one that answers none gets three more")
    void failingDeletions() {
        MemoryObjectStore store = new MemoryObjectStore();
        AtomicInteger deletions = new AtomicInteger();
        store.plan(request ->
                request.operation().equals("DELETE") && deletions.getAndIncrement() % 2 == 0
                        ? new Fault.Lost(Fault.SLOW_DOWN)
                        : new Fault.None());
        for (int i = 0; i < 10; i++) {
            assertInstanceOf(ProbeResult.Probed.class, probe(store).run());
        }
        assertEquals(List.of(), store.keys());
        store.plan(FaultPlan.when(
                request -> request.operation().equals("DELETE"), new Fault.Lost(Fault.TIMEOUT)));
        store.forgetRequests();
        assertInstanceOf(ProbeResult.Probed.class, probe(store).run());
        assertEquals(3 + 3, store.requests().stream().filter("DELETE"::equals).count());
    }

    @Test
    @DisplayName("an object that exists after a lost response is ours if it has our body")
    void ours() throws InterruptedException {
        byte[] body = {1, 2, 3};
        MemoryObjectStore store = new MemoryObjectStore();
        ProbeObjects objects =
                new ProbeObjects(store, layout, new TestTicker(), TestSeed.random("ours"));
        store.script(new Fault.AnswerLost(Fault.TIMEOUT));
        assertThat(objects.create(objects.key(), body)).isDone();
        for (byte[] other : List.of(new byte[3], new byte[2], new byte[4])) {
            String key = objects.key();
            store.script(
                    new Fault.Lost(Fault.TIMEOUT),
                    new Fault.Meanwhile(() -> store.place(key, other)));
            assertThat(objects.create(key, body)).isPreconditionFailed();
        }
    }
}
