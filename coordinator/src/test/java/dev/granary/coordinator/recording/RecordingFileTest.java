package dev.granary.coordinator.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Tests of the lock of a recording. */
@Timeout(300)
class RecordingFileTest {
    private final Path directory;
    private final Path file;

    RecordingFileTest(@TempDir Path directory) {
        this.directory = directory;
        this.file = directory.resolve("kernels.toml");
    }

    /** Comments whose reading, under the lock, runs an action. */
    private static List<String> comments(Runnable action) {
        return new AbstractList<>() {
            @Override
            public String get(int index) {
                action.run();
                return "comment";
            }

            @Override
            public int size() {
                return 1;
            }
        };
    }

    /** Returns the failure of an addition by another thread, which is interrupted as it waits. */
    private IOException interruptedAddition(Path recording) {
        CompletableFuture<IOException> failure = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> {
            Thread.currentThread().interrupt();
            failure.complete(assertThrows(IOException.class, () -> new RecordingFile(recording)
                    .add(List.of(), List.of())));
        });
        return failure.join();
    }

    private String probe() {
        try {
            return ChildJvm.of(LockProbe.class)
                    .shortLived()
                    .run(directory.resolve("kernels.toml.d").resolve("lock").toString())
                    .output()
                    .strip();
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @DisplayName(
            "An addition that ends without the lock does not release that of another thread, which"
                    + " has the file by another name")
    void lockOfTwoThreads() throws Exception {
        Path link = Files.createSymbolicLink(directory.resolve("link"), directory);
        List<String> found = new ArrayList<>();
        new RecordingFile(file).add(List.of(), comments(() -> {
            assertInstanceOf(
                    InterruptedIOException.class,
                    interruptedAddition(link.resolve("kernels.toml")));
            found.add(probe());
        }));
        assertEquals(List.of(LockProbe.HELD), found);
    }
}
