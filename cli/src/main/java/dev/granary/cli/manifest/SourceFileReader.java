package dev.granary.cli.manifest;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/** Reader of the files of one kernel, which have at most 64 MiB together. Not thread-safe. */
final class SourceFileReader {
    private static final long MAX_BYTES = 64L << 20;

    private long bytes;

    /** Returns the text of a header. */
    String text(Path header) throws IOException {
        return new String(content(header, ": restore this header"), UTF_8);
    }

    /** Returns the content; the message of an {@code IOException} is for the user. */
    byte[] content(Path source) throws IOException {
        return content(source, ": correct source in the manifest");
    }

    private byte[] content(Path file, String cureIfMissing) throws IOException {
        try {
            BasicFileAttributes kind = Files.readAttributes(file, BasicFileAttributes.class);
            if (kind.isDirectory()) {
                throw new IOException(file + " is a directory: name a file in it");
            }
            if (!kind.isRegularFile()) { // opening a pipe blocks until a writer opens it
                throw new IOException(file + " is a pipe, a device or a socket: name a file");
            }
            byte[] content = read(file);
            bytes += content.length;
            if (bytes > MAX_BYTES) {
                throw new IOException("there are more than " + (MAX_BYTES >> 20)
                        + " MiB of sources and headers; name smaller directories");
            }
            return content;
        } catch (NoSuchFileException e) {
            throw new IOException("there is no file " + file + cureIfMissing, e);
        } catch (FileSystemException e) {
            throw new IOException(file + " cannot be read: " + e, e);
        } catch (OutOfMemoryError e) {
            // other kernels may fit
            throw new IOException(file + " needs more memory than this process has left", e);
        }
    }

    /** Reads up to one byte more than all files together may have. */
    private byte[] read(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            // Memory is allocated for bytes that were read, never from a declared length.
            return in.readNBytes((int) (MAX_BYTES - bytes) + 1);
        } catch (FileSystemException e) {
            throw e;
        } catch (IOException e) { // such as an error of the disk, which does not name the file
            throw new IOException(file + " cannot be read: " + e, e);
        }
    }
}
