package dev.granary.local.store;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.local.directory.BootId;
import dev.granary.local.file.StoreStep;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Tests of the queue for the commit lock within one process: turns of threads, timeouts,
 * interrupts.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class CommitLockQueueTest {
    private static final long DAY_NANOS = Duration.ofDays(1).toNanos();

    @Test
    @DisplayName(
            "A8 L4 threads take turns in order of arrival: one that had a turn queues behind the"
                    + " waiting ones")
    void order() throws Exception {
        CommitLockQueue queue = new CommitLockQueue();
        for (int round = 0; round < 50; round++) {
            List<String> turns = new CopyOnWriteArrayList<>();
            CommitLockQueue.Turn first = queue.awaitTurn(new BoundedWait(DAY_NANOS));
            Thread waiting = Thread.ofPlatform().start(() -> {
                try (BoundedWait wait = new BoundedWait(DAY_NANOS);
                        CommitLockQueue.Turn _ = queue.awaitTurn(wait)) {
                    turns.add("waited");
                } catch (CommitLockQueue.BusyException e) {
                    turns.add(e.toString());
                }
            });
            Await.holds(() -> waiting.getState() == Thread.State.TIMED_WAITING);
            first.close();
            try (BoundedWait wait = new BoundedWait(DAY_NANOS);
                    CommitLockQueue.Turn _ = queue.awaitTurn(wait)) {
                turns.add("had a turn");
            }
            waiting.join();
            assertEquals(List.of("waited", "had a turn"), turns, "round " + round);
        }
    }

    @Test
    @DisplayName(
            "A8 L4 a turn that does not come in time is refused, with the number of other turns"
                    + " meanwhile")
    void noTurn() throws Exception {
        CommitLockQueue queue = new CommitLockQueue();
        for (int i = 0; i < 3; i++) {
            queue.awaitTurn(new BoundedWait(DAY_NANOS)).close();
        }
        List<String> refused = new CopyOnWriteArrayList<>();
        try (CommitLockQueue.Turn _ = queue.awaitTurn(new BoundedWait(DAY_NANOS))) {
            Thread.ofPlatform()
                    .start(() -> {
                        Thread.currentThread().interrupt();
                        try (BoundedWait wait = new BoundedWait(1_000_000)) {
                            refused.add(assertThrows(
                                            CommitLockQueue.BusyException.class,
                                            () -> queue.awaitTurn(wait))
                                    .getMessage());
                        }
                        refused.add(Boolean.toString(Thread.currentThread().isInterrupted()));
                    })
                    .join();
        }
        assertTrue(
                refused.getFirst().contains(": 0 changes of this process ended within "),
                refused::toString);
        assertEquals("true", refused.getLast());
        queue.awaitTurn(new BoundedWait(DAY_NANOS)).close();
    }

    @Test
    @DisplayName(
            "A8 L4 the count of changes distinguishes a stalled holder from holders that alternate")
    void watch() {
        LockHolderWatch watch = new LockHolderWatch(7, 1000, 100);
        try (BoundedWait goesOn = new BoundedWait(DAY_NANOS);
                BoundedWait over = new BoundedWait(0)) {
            watch.observe(7, 1049);
            assertFalse(watch.isStalled(over));
            watch.observe(7, 1050);
            assertFalse(watch.isStalled(goesOn), "half suffices only if the wait is over");
            assertTrue(watch.isStalled(over));
            watch.observe(7, 1099);
            assertFalse(watch.isStalled(goesOn));
            watch.observe(8, 1099); // another holder
            assertEquals(0, watch.stallNanos());
            assertFalse(watch.isStalled(over));
            watch.observe(8, 1198);
            assertFalse(watch.isStalled(goesOn));
            watch.observe(8, 1199);
            assertTrue(watch.isStalled(goesOn));
            assertEquals(100, watch.stallNanos());
            watch.observe(7, 1200); // a recovered state page restarts the count
            assertFalse(watch.isStalled(over));
        }
    }

    @Test
    @DisplayName(
            "A8 L4 each change of any process counts, so that alternating holders do not look like"
                    + " a stalled one")
    void changesCount(@TempDir Path temporary) throws Exception {
        SegmentStore store = SegmentStore.share(
                temporary.resolve("cache"), BootId.mark(), StoreStep.Listener.NONE);
        try {
            assertEquals(0, store.changes());
            store.change(_ -> true);
            long first = store.changes();
            store.change(_ -> false);
            assertEquals(first + 1, store.changes());
            Thread.ofPlatform()
                    .start(() -> assertDoesNotThrow(() -> store.change(_ -> true)))
                    .join();
            assertEquals(first + 2, store.changes());
        } finally {
            store.release();
        }
    }

    @Test
    @DisplayName("A8 L4 each wait is deducted once from the remaining time, which never becomes"
            + " negative; 0 allows attempts")
    void remaining() {
        RemainingTime remaining = new RemainingTime(DAY_NANOS);
        try (BoundedWait wait = new BoundedWait(remaining)) {
            wait.end();
            long left = remaining.nanos();
            assertTrue(left < DAY_NANOS);
            wait.end();
            assertEquals(left, remaining.nanos(), "it was over");
        }
        remaining.deduct(-1);
        assertTrue(remaining.nanos() < DAY_NANOS);
        remaining.deduct(2 * DAY_NANOS);
        assertEquals(0, remaining.nanos());
        assertEquals(0, new RemainingTime(-1).nanos());
        AtomicBoolean tried = new AtomicBoolean();
        try (BoundedWait wait = new BoundedWait(remaining)) {
            assertTrue(wait.isOver());
            assertTrue(wait.until(nanos -> {
                assertEquals(0, nanos);
                tried.set(true);
                return true;
            }));
            wait.pause(DAY_NANOS); // otherwise the test's timeout ends it
        }
        assertTrue(tried.get());
    }

    @Test
    @DisplayName(
            "A7 an interrupt ends no wait: the wait continues, and the status is restored at the"
                    + " end")
    void interrupt() {
        int[] attempts = {0};
        try (BoundedWait wait = new BoundedWait(DAY_NANOS)) {
            assertTrue(wait.until(_ -> {
                if (attempts[0]++ < 3) {
                    throw new InterruptedException();
                }
                return true;
            }));
            assertFalse(Thread.currentThread().isInterrupted());
        }
        assertEquals(4, attempts[0]);
        assertTrue(Thread.interrupted());
        Thread.currentThread().interrupt();
        try (BoundedWait wait = new BoundedWait(DAY_NANOS)) {
            wait.pause(1);
            assertFalse(
                    Thread.currentThread().isInterrupted(), "else no pause would pause any more");
        }
        assertTrue(Thread.interrupted());
    }
}
