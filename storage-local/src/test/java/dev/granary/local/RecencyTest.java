package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Uses are noted at once and written later. */
final class RecencyTest {
    private final TestClock clock = new TestClock();
    private final Trouble trouble = new Trouble();
    private final Queue<Runnable> later = new ArrayDeque<>();
    private final Recency recency = new Recency(clock, later::add, trouble);

    @TempDir
    private Path directory;

    private Path file(String name) throws IOException {
        Path file = Files.createFile(directory.resolve(name));
        Files.setLastModifiedTime(file, FileTime.from(clock.instant()));
        return file;
    }

    private long stamp(Path file) throws IOException {
        return Files.getLastModifiedTime(file).toMillis();
    }

    @Test
    @DisplayName("A use writes nothing by itself; one task writes all that came before it")
    void writtenBehind() throws IOException {
        Path one = file("one");
        Path two = file("two");
        long before = clock.millis();
        clock.advance(Duration.ofSeconds(3));
        recency.touch(one);
        recency.touch(two);
        assertEquals(before, stamp(one));
        assertEquals(1, later.size());
        later.remove().run();
        assertEquals(clock.millis(), stamp(one));
        assertEquals(clock.millis(), stamp(two));
    }

    @Test
    @DisplayName("A newer stamp of another process stays; an entry evicted meanwhile is no trouble")
    void othersAreNotOverruled() throws IOException {
        Path file = file("file");
        Path gone = file("gone");
        recency.touch(file);
        recency.touch(gone);
        Files.delete(gone);
        clock.advance(Duration.ofMinutes(1));
        Files.setLastModifiedTime(file, FileTime.from(clock.instant()));
        recency.flush();
        assertEquals(clock.millis(), stamp(file));
        assertEquals(0, trouble.count());
    }
}
