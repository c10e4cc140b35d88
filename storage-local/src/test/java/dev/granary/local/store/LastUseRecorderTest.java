package dev.granary.local.store;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.Entry;
import dev.granary.local.LocalTier;
import dev.granary.local.SharedEntries;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.StoreStep;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** Tests of the recorder of last uses. */
@Timeout(60)
final class LastUseRecorderTest {
    @TempDir
    private Path directory;

    @Test
    @DisplayName("L4 last uses are written although the system has no thread for the background")
    void noThread() throws Exception {
        Entry entry = SharedEntries.entry("used", 100);
        try (LocalTier tier = LocalTier.open(
                LocalTierConfig.builder(directory).background(Runnable::run).build())) {
            assertThat(tier.store(entry)).isStored();
            SegmentStore store = SegmentStore.share(
                    directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
            AtomicReference<Instant> now = new AtomicReference<>(Instant.now());
            AtomicInteger refused = new AtomicInteger();
            LastUseRecorder recorder = new LastUseRecorder(
                    store,
                    now::get,
                    _ -> {
                        refused.incrementAndGet();
                        throw new OutOfMemoryError("a test: unable to create native thread");
                    },
                    new IoFailureLog());
            try {
                EntryIndex index = Objects.requireNonNull(store.files()).index();
                int slot = IndexSnapshot.of(index).slot(0);
                for (int use = 1; use <= 2; use++) {
                    now.updateAndGet(time -> time.plusSeconds(20));
                    recorder.record(index, slot);
                    int expected = use;
                    Await.holds(() -> {
                        endDelay();
                        return refused.get() == expected;
                    });
                    long micros = recorder.nowMicros();
                    Await.holds(() -> index.usedMicros(slot) == micros);
                }
            } finally {
                recorder.close();
                store.release();
            }
            assertEquals(2, refused.get());
        }
    }

    /** Ends the delay of the recorder's waiting thread. */
    private static void endDelay() {
        Thread.getAllStackTraces().forEach((thread, frames) -> {
            if (Arrays.stream(frames)
                    .anyMatch(frame -> frame.getMethodName().equals("waitAndWrite"))) {
                LockSupport.unpark(thread);
            }
        });
    }
}
