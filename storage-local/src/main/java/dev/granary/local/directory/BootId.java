package dev.granary.local.directory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Identification of the current boot of the machine: data written before it may be lost in part.
 */
public final class BootId {
    private static final Path LINUX = Path.of("/proc/sys/kernel/random/boot_id");

    private BootId() {}

    /**
     * Returns a number that is constant while the machine runs, or always 1 if the system provides
     * no boot id.
     */
    public static long mark() {
        try {
            String id = Files.readString(LINUX);
            long mark = 1;
            for (int i = 0; i < id.length(); i++) {
                mark = 31 * mark + id.charAt(i);
            }
            return mark;
        } catch (IOException e) {
            return 1;
        }
    }
}
