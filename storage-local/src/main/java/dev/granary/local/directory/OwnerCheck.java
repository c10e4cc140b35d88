package dev.granary.local.directory;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.StringTokenizer;
import org.jspecify.annotations.Nullable;

/** Tells whether a directory belongs to somebody who must not decide what this process runs: anyone but its own user and root. */
final class OwnerCheck {
    private static final int ROOT = 0;
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final String USERS = "Uid:";

    private OwnerCheck() {}

    /** True where the directory's owner is known, and is a stranger. */
    static boolean isStranger(Path directory) throws IOException {
        if (!directory.getFileSystem().supportedFileAttributeViews().contains("unix")) {
            return false;
        }
        int owner = (Integer) Files.getAttribute(directory, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        if (owner == ROOT) {
            return false; // root may do everything anyway
        }
        OptionalInt user = effectiveUser();
        if (user.isPresent()) {
            return owner != user.getAsInt();
        }
        String name = Files.getOwner(directory, LinkOption.NOFOLLOW_LINKS).getName();
        return ProcessHandle.current().info().user().map(self -> !self.equals(name)).orElse(false);
    }

    /** The user that the kernel checks, where it tells. The owner of {@code /proc/self} is not it: root, for a process with capabilities. */
    private static OptionalInt effectiveUser() throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(STATUS, StandardCharsets.ISO_8859_1)) {
            return effectiveUser(lines);
        } catch (NoSuchFileException e) {
            return OptionalInt.empty();
        }
    }

    /** Finds the second number of a line such as {@code Uid: 1000 1000 1000 1000}, with tabs: real, effective, saved, of the file system. */
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
