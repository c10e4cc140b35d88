package dev.granary.local;

import dev.granary.cache.support.Warnings;

import org.jspecify.annotations.Nullable;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.Set;

/**
 * The subdirectory of this user in a directory that others can write, such as a volume of a
 * cluster: {@code granary-<uid>}, with mode 700.
 *
 * <p>It is used only where others cannot replace it unnoticed: in a mount point, whose users share
 * it deliberately, and in a directory with the sticky bit. The tier refuses all other directories
 * that others can write, see {@link DirectoryValidator}.
 */
public final class PrivateSubdirectory {
    private static final String PREFIX = "granary-";
    private static final int STICKY = 0_1000;
    private static final Path MOUNTS = Path.of("/proc/self/mountinfo");
    private static final int MOUNT_POINT = 4;
    private static final String ESCAPED = " \t\n\\";

    private PrivateSubdirectory() {}

    /**
     * Returns the directory to use if {@code configured} was configured: its private subdirectory,
     * or {@code configured} itself if it needs none or cannot have one. Creates nothing.
     */
    public static Path resolve(Path configured) {
        try {
            if (!isWritableByOthers(configured)) {
                return configured;
            }
            OptionalInt user = OwnerCheck.effectiveUser();
            if (user.isEmpty()
                    || OwnerCheck.isForeignOwner(configured)
                    || !(isSticky(configured) || isMountPoint(configured.toRealPath()))) {
                return configured;
            }
            Path subdirectory = configured.resolve(PREFIX + user.getAsInt());
            Warnings.warn(
                    "shared-directory " + configured,
                    "Others can write the local cache directory " + configured
                            + "; its private subdirectory " + subdirectory.getFileName()
                            + " is used.");
            return subdirectory;
        } catch (IOException e) {
            return configured; // missing, or the tier reports the error
        }
    }

    /** Returns whether a path is a directory that others can write. */
    static boolean isWritableByOthers(Path directory) throws IOException {
        PosixFileAttributeView view = Files.getFileAttributeView(
                directory, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
        if (view == null || !view.readAttributes().isDirectory()) {
            return false;
        }
        Set<PosixFilePermission> permissions = view.readAttributes().permissions();
        return permissions.contains(PosixFilePermission.GROUP_WRITE)
                || permissions.contains(PosixFilePermission.OTHERS_WRITE);
    }

    private static boolean isSticky(Path directory) throws IOException {
        return ((Integer) Files.getAttribute(directory, "unix:mode", LinkOption.NOFOLLOW_LINKS)
                        & STICKY)
                != 0;
    }

    /**
     * Returns whether a file system or a directory of one is mounted at {@code real}, by Linux's
     * table of the mounts that this process sees; false if there is no such table.
     */
    private static boolean isMountPoint(Path real) throws IOException {
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
}
