package dev.granary.coordinator.session;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Sha256;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * Two numbers by which the reports of one computer are recognized, without its name or address.
 *
 * @param directory a random number of the local directory, 32 hexadecimal digits
 * @param host a digest of the boot id of the operating system, which containers share; of the host
 *     name if there is no boot id; 32 hexadecimal digits
 */
public record ComputerIdentity(String directory, String host) {
    private static final String FILE = "machine";
    private static final int BYTES = 16;
    private static final Pattern NUMBER = Pattern.compile("[0-9a-f]{32}");
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    /**
     * Returns the identity of this computer, with the number of {@code localDirectory}, which is
     * created if it has none.
     *
     * @throws IOException if it has none, and cannot be written
     */
    static ComputerIdentity of(Path localDirectory) throws IOException {
        return new ComputerIdentity(
                number(localDirectory.resolve(FILE)),
                digits(Sha256.of(nameOfHost().getBytes(UTF_8))));
    }

    private static String number(Path file) throws IOException {
        try {
            return read(file);
        } catch (NoSuchFileException e) {
            byte[] random = new byte[BYTES];
            new SecureRandom().nextBytes(random);
            String made = HexFormat.of().formatHex(random);
            Path whole = Files.createTempFile(file.toAbsolutePath().getParent(), FILE, ".part");
            try {
                Files.writeString(whole, made);
                Files.createLink(file, whole); // another process may make it at the same time
                return made;
            } catch (FileAlreadyExistsException another) {
                return read(file);
            } finally {
                Files.deleteIfExists(whole);
            }
        }
    }

    /** Reads a number; for any other content, the number is its digest. */
    private static String read(Path file) throws IOException {
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)
                && !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new IOException(file + " is no regular file"); // opening a pipe would block
        }
        String text = Files.readString(file, ISO_8859_1);
        return NUMBER.matcher(text).matches() ? text : digits(Sha256.of(text.getBytes(UTF_8)));
    }

    private static String digits(Sha256 digest) {
        return digest.hex().substring(0, 2 * BYTES);
    }

    private static String nameOfHost() {
        try {
            return Files.readString(BOOT_ID).strip();
        } catch (IOException e) {
            try {
                return InetAddress.getLocalHost().getHostName();
            } catch (UnknownHostException unknown) {
                return "";
            }
        }
    }
}
