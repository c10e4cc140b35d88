package dev.granary.local;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * Validator of cache directories, which also creates a missing one. Anyone with write access could
 * determine the programs that this process runs. So a link, a directory that others can write, and
 * one that belongs to another user are refused.
 */
final class DirectoryValidator {
    private static final String REMEDY = "Choose another directory for the local cache, or ";

    private DirectoryValidator() {}

    /**
     * Validates the directory, or creates it.
     *
     * @throws LocalDirectoryException if it cannot be used or would not be safe
     */
    static void prepare(Path directory) throws LocalDirectoryException {
        try {
            if (Files.notExists(directory, LinkOption.NOFOLLOW_LINKS)) {
                create(directory);
            }
            inspect(directory); // another process may have been faster
        } catch (LocalDirectoryException e) {
            throw e;
        } catch (IOException e) {
            throw new LocalDirectoryException(
                    "The local cache cannot inspect " + directory + " (" + e + "). " + REMEDY
                            + "give this user access to it.",
                    e);
        }
    }

    /** Returns attributes that make a new directory private, if the file system has permissions. */
    static FileAttribute<?>[] privateDirectory(Path where) {
        return attributes(where, "rwx------");
    }

    /** Returns attributes that make a new file private, if the file system has permissions. */
    static FileAttribute<?>[] privateFile(Path where) {
        return attributes(where, "rw-------");
    }

    /**
     * Opens a file for locks, and creates it private to this user if it is missing. Follows no
     * link, and opens no pipe, which would wait for another process.
     */
    static FileChannel openLockFile(Path file) throws IOException {
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)
                && !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new FileSystemException(file.toString(), null, "not a file; remove it");
        }
        return FileChannel.open(
                file,
                Set.of(
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE,
                        StandardOpenOption.CREATE,
                        LinkOption.NOFOLLOW_LINKS),
                privateFile(file));
    }

    private static FileAttribute<?>[] attributes(Path where, String permissions) {
        if (!where.getFileSystem().supportedFileAttributeViews().contains("posix")) {
            return new FileAttribute<?>[0];
        }
        return new FileAttribute<?>[] {
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))
        };
    }

    private static void inspect(Path directory) throws IOException, LocalDirectoryException {
        BasicFileAttributes attributes = Files.readAttributes(
                directory, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (attributes.isSymbolicLink()) {
            throw new LocalDirectoryException("The local cache directory " + directory
                    + " is a symbolic link, which others may redirect. "
                    + "Configure the directory that it points to instead.");
        }
        if (!attributes.isDirectory()) {
            throw new LocalDirectoryException("The local cache directory " + directory
                    + " is not a directory. " + REMEDY + "remove it.");
        }
        if (!Files.isReadable(directory) || !Files.isExecutable(directory)) {
            throw new LocalDirectoryException("The local cache directory " + directory
                    + " cannot be read by this user. " + REMEDY + "run: chmod 700 " + directory);
        }
        requireTrusted(directory);
    }

    private static void requireTrusted(Path directory) throws IOException, LocalDirectoryException {
        if (OwnerCheck.isForeignOwner(directory)) {
            throw new LocalDirectoryException(
                    "The local cache directory " + directory + " belongs to the user "
                            + Files.getOwner(directory, LinkOption.NOFOLLOW_LINKS)
                                    .getName() + ", who could plant programs in it. " + REMEDY
                            + "check its content and run: chown " + System.getProperty("user.name")
                            + " " + directory);
        }
        if (PrivateSubdirectory.isWritableByOthers(directory)) {
            throw new LocalDirectoryException(
                    "The local cache directory " + directory + " can be written by others ("
                            + PosixFilePermissions.toString(Files.getPosixFilePermissions(
                                    directory, LinkOption.NOFOLLOW_LINKS))
                            + "), who could plant programs in it. " + REMEDY
                            + "check its content and run: chmod 700 " + directory);
        }
    }

    private static void create(Path directory) throws LocalDirectoryException {
        try {
            Files.createDirectories(directory, privateDirectory(directory));
        } catch (FileAlreadyExistsException e) {
            throw new LocalDirectoryException(
                    "The local cache directory " + directory + " cannot be created: " + e.getFile()
                            + " is not a directory. " + REMEDY + "remove it.",
                    e);
        } catch (IOException e) {
            throw new LocalDirectoryException(
                    "The local cache directory " + directory + " cannot be created (" + e + "). "
                            + REMEDY + "create it with mode 700.",
                    e);
        }
    }
}
