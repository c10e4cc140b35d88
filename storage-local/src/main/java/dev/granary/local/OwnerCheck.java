package dev.granary.local;

import org.jspecify.annotations.Nullable;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.StringTokenizer;

/**
 * Check of a directory's owner: only the user of this process and root may determine the programs
 * that it runs.
 */
final class OwnerCheck {
    private static final int ROOT = 0;
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final String USERS = "Uid:";

    private OwnerCheck() {}

    /** Returns whether the directory's owner is known and neither this user nor root. */
    static boolean isForeignOwner(Path directory) throws IOException {
        if (!directory.getFileSystem().supportedFileAttributeViews().contains("unix")) {
            return false;
        }
        int owner = (Integer) Files.getAttribute(directory, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        if (owner == ROOT) {
            return false; // root has full access anyway
        }
        OptionalInt user = effectiveUser();
        if (user.isPresent()) {
            return owner != user.getAsInt();
        }
        String name = Files.getOwner(directory, LinkOption.NOFOLLOW_LINKS).getName();
        return ProcessHandle.current()
                .info()
                .user()
                .map(self -> !self.equals(name))
                .orElse(false);
    }

    /**
     * Returns the effective user, which the kernel checks, or empty if the system does not report
     * it. The owner of {@code /proc/self} may differ: it is root for a process with capabilities.
     */
    static OptionalInt effectiveUser() throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(STATUS, StandardCharsets.ISO_8859_1)) {
            return effectiveUser(lines);
        } catch (NoSuchFileException e) {
            return OptionalInt.empty();
        }
    }

    /**
     * Parses the second number of a line such as {@code Uid: 1000 1000 1000 1000}, with tabs: real,
     * effective, saved and file-system user.
     */
    static OptionalInt effectiveUser(BufferedReader status) throws IOException {
        for (@Nullable String line = status.readLine(); line != null; line = status.readLine()) {
            if (line.startsWith(USERS)) {
                StringTokenizer numbers = new StringTokenizer(line.substring(USERS.length()));
                numbers.nextToken();
                return OptionalInt.of(Integer.parseUnsignedInt(numbers.nextToken()));
            }
        }
        return OptionalInt.empty();
    }
}
