package dev.granary.coordinator.recording;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A process that prints whether another process has the lock of a file, its argument. */
final class LockProbe {
    static final String HELD = "held";

    private LockProbe() {}

    static void main(String[] arguments) throws IOException {
        try (FileChannel channel =
                        FileChannel.open(Path.of(arguments[0]), StandardOpenOption.WRITE);
                FileLock lock = channel.tryLock()) {
            System.out.println(lock == null ? HELD : "free");
        }
    }
}
