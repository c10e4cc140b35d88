package dev.granary.local.directory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Tells one start of the machine from another: what was written in an earlier one may be lost in part. */
public final class BootId {
    private static final Path LINUX = Path.of("/proc/sys/kernel/random/boot_id");

    private BootId() {}

    /** A number that stays the same while the machine runs; where the system does not tell, always the same. */
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
