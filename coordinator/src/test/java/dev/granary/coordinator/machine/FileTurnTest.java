package dev.granary.coordinator.machine;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of the turns of threads and processes at a lock file. */
class FileTurnTest {
    @TempDir
    private Path directory = Path.of("");

    private FileTurn turn(Duration limit) throws IOException {
        return FileTurn.await(directory.resolve("lock"), limit);
    }

    @Test
    @DisplayName("A lock that another class loader of this JVM has is awaited like that of a"
            + " process, and then an IOException")
    void overlapping() throws Exception {
        // this channel is one that FileTurn does not know
        try (FileChannel channel = FileChannel.open(
                        directory.resolve("lock"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE);
                FileLock _ = channel.lock()) {
            IOException refused =
                    assertThrows(IOException.class, () -> turn(Duration.ofMillis(20)));
            assertTrue(refused.toString().contains("has held the lock"), refused::toString);
        }
        assertDoesNotThrow(() -> turn(Duration.ofMinutes(1)).close());
    }

    @Test
    @DisplayName("Threads have their turns one after the other")
    void threads() throws Exception {
        AtomicInteger inTurn = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Thread.ofPlatform().start(() -> {
                for (int turns = 0; turns < 20; turns++) {
                    try (FileTurn _ = turn(Duration.ofMinutes(1))) {
                        most.accumulateAndGet(inTurn.incrementAndGet(), Math::max);
                        inTurn.decrementAndGet();
                        done.incrementAndGet();
                    } catch (IOException e) {
                        throw new IllegalStateException(e);
                    }
                }
            });
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertTrue(most.get() == 1 && done.get() == 80, () -> most + ", " + done);
    }

    @Test
    @DisplayName("An interrupt ends the wait, and stays set")
    void interrupted() throws Exception {
        try (FileChannel channel = FileChannel.open(
                        directory.resolve("lock"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE);
                FileLock _ = channel.lock()) {
            Thread.currentThread().interrupt();
            assertThrows(InterruptedIOException.class, () -> turn(Duration.ofDays(1)));
            assertTrue(Thread.interrupted());
        }
    }
}
