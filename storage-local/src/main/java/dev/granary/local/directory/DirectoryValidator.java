package dev.granary.local.directory;

import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.NetworkFileSystemPolicy;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * Validator of cache directories, which also creates a missing one. Anyone with write access could
 * determine the programs that this process runs. So a link, a directory that others can write, and
 * one that belongs to another user are refused. So is a network file system.
 */
public final class DirectoryValidator {
    private static final String REMEDY = "Choose another directory for the local cache, or ";

    private DirectoryValidator() {}

    /**
     * Validates or creates the directory; returns its real path, the key by which this process
     * shares one store.
     */
    public static Path prepare(Path directory, NetworkFileSystemPolicy network)
            throws LocalDirectoryException {
        try {
            try {
                inspect(directory);
                requireLocalFileSystem(directory, directory, network);
            } catch (NoSuchFileException e) {
                requireLocalFileSystem(directory, nearestExisting(directory), network);
                create(directory);
                inspect(directory); // another process may have been faster
            }
            return directory.toRealPath();
        } catch (IOException e) {
            throw new LocalDirectoryException(
                    "The local cache cannot inspect " + directory + " (" + e + "). " + REMEDY
                            + "give this user access to it.",
                    e);
        }
    }

    /** Returns attributes that make a new directory private, if the file system has permissions. */
    public static FileAttribute<?>[] privateDirectory(Path where) {
        return attributes(where, "rwx------");
    }

    /** Returns attributes that make a new file private, if the file system has permissions. */
    public static FileAttribute<?>[] privateFile(Path where) {
        return attributes(where, "rw-------");
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
        PosixFileAttributeView view = Files.getFileAttributeView(
                directory, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
        if (view != null) {
            Set<PosixFilePermission> permissions = view.readAttributes().permissions();
            if (permissions.contains(PosixFilePermission.GROUP_WRITE)
                    || permissions.contains(PosixFilePermission.OTHERS_WRITE)) {
                throw new LocalDirectoryException(
                        "The local cache directory " + directory + " can be written by others ("
                                + PosixFilePermissions.toString(permissions)
                                + "), who could plant programs in it. " + REMEDY
                                + "check its content and run: chmod 700 " + directory);
            }
        }
    }

    private static void requireLocalFileSystem(
            Path directory, Path existing, NetworkFileSystemPolicy network)
            throws LocalDirectoryException {
        switch (network) {
            case ALLOW -> {}
            case REFUSE -> {
                FileSystemType type = FileSystemType.of(existing);
                if (type.isNetwork()) {
                    throw new LocalDirectoryException(onNetwork(directory, type));
                }
            }
        }
    }

    static String onNetwork(Path directory, FileSystemType type) {
        return "The local cache directory " + directory + " lies on a network file system ("
                + type.name() + "). Locks and shared mappings do not hold between machines;"
                + " several machines share kernels by a bucket. Choose a directory"
                + " on a disk of this machine or, where no other machine uses this"
                + " one, allow it: network-dir = \"allow\" in the configuration"
                + " file, GRANARY_NETWORK_DIR=allow, or"
                + " NetworkFileSystemPolicy.ALLOW in code.";
    }

    private static Path nearestExisting(Path directory) {
        Path existing = directory;
        while (existing.getParent() != null && !Files.exists(existing)) {
            existing = existing.getParent();
        }
        return existing;
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
