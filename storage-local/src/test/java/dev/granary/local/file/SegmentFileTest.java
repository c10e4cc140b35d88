package dev.granary.local.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of opening a segment while other threads change it. */
final class SegmentFileTest {
    private static final int ROUNDS = Integer.getInteger("granary.segment.rounds", 300);
    private static final long LENGTH = 1 << 20;
    private static final long USED = 4 << 10;

    @TempDir
    private Path temporary;

    @Test
    @DisplayName("L5 a segment that is truncated at any moment of its opening is opened, with its"
            + " length before or after")
    void cutWhileOpened() throws Exception {
        Path file = temporary.resolve("segment");
        SegmentFile.create(file, 1, LENGTH).close();
        AtomicInteger begun = new AtomicInteger();
        AtomicInteger cut = new AtomicInteger();
        try (RandomAccessFile other = new RandomAccessFile(file.toFile(), "rw")) {
            FutureTask<?> cutting = new FutureTask<>(() -> {
                for (int round = 1; round <= ROUNDS; round++) {
                    await(begun, round);
                    long start = System.nanoTime();
                    // a different moment each time
                    while (System.nanoTime() - start < round % 100 * 1000L) {
                        Thread.onSpinWait();
                    }
                    other.setLength(USED);
                    cut.set(round);
                }
                return null;
            });
            Thread.ofPlatform().daemon().start(cutting);
            for (int round = 1; round <= ROUNDS; round++) {
                other.setLength(LENGTH);
                begun.set(round);
                SegmentFile opened = SegmentFile.open(file, 1);
                assertTrue(
                        opened.length() == LENGTH || opened.length() == USED,
                        () -> "of " + opened.length() + " bytes");
                await(cut, round);
                assertEquals(SegmentFile.Phase.OPEN, opened.phase());
                opened.close();
            }
            cutting.get();
        }
    }

    @Test
    @DisplayName(
            "L5 truncation under a mapping is reported by the copy itself, also when the copy is"
                    + " compiled")
    void cutUnderCompiledCopy() throws Exception {
        Path file = temporary.resolve("segment");
        SegmentFile.create(file, 1, LENGTH).close();
        try (RandomAccessFile other = new RandomAccessFile(file.toFile(), "rw")) {
            for (int round = 0; round < 20; round++) {
                other.setLength(LENGTH);
                SegmentFile whole = SegmentFile.open(file, 1);
                for (int i = 0; i < 5_000; i++) {
                    copied(whole);
                }
                other.setLength(USED);
                for (int i = 0; i < 5; i++) {
                    assertEquals(-1, copied(whole));
                }
                whole.close();
            }
        }
    }

    private static long copied(SegmentFile segment) throws IOException {
        try (Arena memory = Arena.ofConfined()) {
            return segment.copy(LENGTH / 2, 10_000, memory).byteSize();
        } catch (SegmentFile.TruncatedException e) {
            return -1;
        }
    }

    // spinning would take the processor from the other thread
    @SuppressWarnings("ThreadPriorityCheck")
    private static void await(AtomicInteger count, int value) {
        while (count.get() < value) {
            Thread.yield();
        }
    }
}
