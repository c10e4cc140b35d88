package dev.granary.gpu.binary;

import dev.granary.gpu.binary.BinaryContainer.Pocl;

/**
 * Reader of PoCL's container, whose reader in the driver checks no length.
 *
 * <p>A header is followed by lists of files from the driver's cache, and by a record for each
 * kernel with its files. All lengths and file names of a known version are checked.
 */
final class PoclReader {
    static final String MAGIC = "poclbin\0";

    /** The version of PoCL 3.1, whose records are known; other versions have other fields. */
    private static final int KNOWN_VERSION = 9;

    private static final int HEADER_BYTES = 77;
    private static final int MIN_ARGUMENT_BYTES = 32;
    private static final int PATH_LIMIT = 4096;

    private PoclReader() {}

    static Pocl read(ContainerBytes bytes) throws MalformedContainerException {
        ContainerBytes header = bytes.part(0, HEADER_BYTES);
        long deviceHash = header.signedLong(8);
        int version = header.signedInt(16);
        if (version != KNOWN_VERSION) {
            return new Pocl(version, deviceHash);
        }
        long kernelCount = header.unsignedInt(20);
        long listCount = header.unsignedInt(32);
        long at = HEADER_BYTES;
        for (long i = 0; i < listCount; i++) {
            long length = bytes.signedLong(at);
            checkFiles(bytes.part(at + Long.BYTES, length));
            at += Long.BYTES + length;
        }
        for (long i = 0; i < kernelCount; i++) {
            long length = bytes.signedLong(at);
            checkKernel(bytes.part(at, length));
            at += length;
        }
        if (at != bytes.length()) {
            throw new MalformedContainerException(
                    (bytes.length() - at) + " bytes after the last kernel");
        }
        return new Pocl(version, deviceHash);
    }

    /** Checks the record of a kernel. */
    private static void checkKernel(ContainerBytes record) throws MalformedContainerException {
        long fileBytes = record.signedLong(8);
        long argumentBytes = record.unsignedInt(16);
        long nameBytes = record.unsignedInt(20);
        long at = record.end(24, nameBytes);
        long argumentCount = record.unsignedInt(at);
        long localCount = record.unsignedInt(at + 4);
        at += 8 + 3 * Long.BYTES; // the required size of a work-group
        at = record.end(at, localCount * Long.BYTES);
        at = record.end(at + 4, record.unsignedInt(at)); // attributes
        at = record.end(at, Long.BYTES); // flags
        checkArguments(record.part(at, argumentBytes), argumentCount);
        at += argumentBytes;
        checkFiles(record.part(at, fileBytes));
        if (at + fileBytes != record.length()) {
            throw new MalformedContainerException("a record of " + record.length()
                    + " bytes for a kernel of " + (at + fileBytes) + " bytes");
        }
    }

    private static void checkArguments(ContainerBytes arguments, long count)
            throws MalformedContainerException {
        if (count > arguments.length() / MIN_ARGUMENT_BYTES) {
            throw new MalformedContainerException(
                    count + " arguments in " + arguments.length() + " bytes");
        }
        long at = 0;
        for (long i = 0; i < count; i++) {
            at += 4 + 4 + 8 + 4 + 4; // qualifiers, type and size
            at += Integer.BYTES + arguments.unsignedInt(at); // name
            at += Integer.BYTES + arguments.unsignedInt(at); // name of the type
        }
        if (at != arguments.length()) {
            throw new MalformedContainerException(
                    count + " arguments of " + at + " bytes, not " + arguments.length());
        }
    }

    /** Checks a list of files: each has a path and a content, with their lengths before them. */
    private static void checkFiles(ContainerBytes files) throws MalformedContainerException {
        long at = 0;
        while (at < files.length()) {
            long path = at + Integer.BYTES;
            long end = files.end(path, files.unsignedInt(at));
            checkPath(files, path, end - path);
            at = files.end(end + Integer.BYTES, files.unsignedInt(end));
        }
    }

    /** The driver appends the path to its cache directory and writes the file. */
    private static void checkPath(ContainerBytes files, long at, long length)
            throws MalformedContainerException {
        String path = files.text(at, (int) Math.min(length, PATH_LIMIT));
        if (length == 0 || length >= PATH_LIMIT || path.indexOf('\0') >= 0) {
            throw new MalformedContainerException("a file name of " + length + " bytes");
        }
        if (("/" + path + "/").contains("/../")) {
            throw new MalformedContainerException(
                    "a file outside of the driver's cache: " + ContainerBytes.printable(path));
        }
    }
}
