package dev.granary.s3.probe;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.DeviatingObjectStore;
import dev.granary.s3.contract.DeviatingObjectStore.Deviation;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;

/** Tests that a probe recognises and removes its own objects, and nothing else. */
class ProbeObjectsTest {
    private final BucketLayout layout =
            new BucketLayout(S3Config.builder("bucket").build().location());

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
            CapabilityProbe probe = new CapabilityProbe(
                    store, layout, new TestTicker(), TestSeed.random("ProbeObjectsTest"));
            assertInstanceOf(ProbeResult.Probed.class, probe.run());
            assertTrue(store.requests().contains("DELETE"));
            assertEquals(before, store.keys());
        }
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
