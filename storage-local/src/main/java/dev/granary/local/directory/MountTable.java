package dev.granary.local.directory;

import org.jspecify.annotations.Nullable;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;

/**
 * Linux's table of the mounts that this process sees, {@code /proc/self/mountinfo}, searched by
 * device number. It is for stacked mounts, such as automatic mounts over {@code autofs}, for which
 * {@link java.nio.file.FileStore} reports the lower one.
 */
public final class MountTable {
    private static final Path MOUNTS = Path.of("/proc/self/mountinfo");
    private static final String BEFORE_TYPE = " - ";
    private static final int MOUNT_POINT = 4;
    private static final String ESCAPED = " \t\n\\";

    private MountTable() {}

    /**
     * Returns the file system of an existing path; empty if there is no such table, or if it lacks
     * the device (btrfs).
     */
    public static Optional<FileSystemType> find(Path existing) throws IOException {
        if (!existing.getFileSystem().supportedFileAttributeViews().contains("unix")) {
            return Optional.empty();
        }
        try (BufferedReader lines = Files.newBufferedReader(MOUNTS, StandardCharsets.ISO_8859_1)) {
            return find(lines, (Long) Files.getAttribute(existing, "unix:dev"));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /**
     * Returns whether a file system or a directory of one is mounted at {@code real}; false if
     * there is no such table.
     */
    static boolean isMountPoint(Path real) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(MOUNTS, StandardCharsets.ISO_8859_1)) {
            return isMountPoint(lines, real.toString().getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /** Finds a mount point, the fifth word, in which a blank is written as {@code \040}. */
    static boolean isMountPoint(BufferedReader lines, byte[] path) throws IOException {
        String escaped = escape(path);
        for (@Nullable String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", MOUNT_POINT + 2);
            if (words.length > MOUNT_POINT && words[MOUNT_POINT].equals(escaped)) {
                return true;
            }
        }
        return false;
    }

    private static String escape(byte[] path) {
        StringBuilder escaped = new StringBuilder();
        for (byte each : path) {
            if (ESCAPED.indexOf(each) >= 0) {
                escaped.append('\\').append(String.format(Locale.ROOT, "%03o", each));
            } else {
                escaped.append((char) (each & 0xff));
            }
        }
        return escaped.toString();
    }

    /**
     * Finds a device in lines such as {@code 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3
     * /dev/root rw,errors=continue}. A line has two numbers, the device, root, mount point,
     * options, any number of words, a dash, type and source.
     */
    static Optional<FileSystemType> find(BufferedReader lines, long device) throws IOException {
        for (@Nullable String line = lines.readLine(); line != null; line = lines.readLine()) {
            int second = line.indexOf(' ', line.indexOf(' ') + 1);
            int colon = line.indexOf(':', second);
            int root = line.indexOf(' ', second + 1);
            int type = line.indexOf(BEFORE_TYPE) + BEFORE_TYPE.length();
            int source = line.indexOf(' ', type) + 1;
            if (second < colon
                    && colon < root
                    && root < type
                    && type < source
                    && number(line, second + 1, colon) == major(device)
                    && number(line, colon + 1, root) == minor(device)) {
                int end = line.indexOf(' ', source);
                return Optional.of(new FileSystemType(
                        line.substring(type, source - 1),
                        line.substring(source, end < 0 ? line.length() : end)));
            }
        }
        return Optional.empty();
    }

    private static long number(String line, int begin, int end) {
        try {
            return Long.parseLong(line, begin, end, 10);
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    private static long major(long device) {
        return (device >>> 8 & 0xfff) | (device >>> 32 & ~0xfffL);
    }

    private static long minor(long device) {
        return (device & 0xff) | (device >>> 12 & 0xffffff00L);
    }
}
