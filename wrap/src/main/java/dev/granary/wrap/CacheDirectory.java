package dev.granary.wrap;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.cache.support.FileTrees;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The directory in which a tool keeps compiled kernels. Links are neither followed nor shared.
 * Thread-safe; the tool and others may add, change and remove files at any time.
 */
final class CacheDirectory {
    private static final int MAX_DEPTH = 24;
    private static final int MAX_FILES = 500_000;

    /** The largest file that is shared; the entry of a group is not larger either. */
    private static final long MAX_BYTES = 512L << 20;

    /** The age from which a file that was not renamed has no writer any more. */
    private static final Duration ABANDONED = Duration.ofHours(1);

    private static final Pattern UNFINISHED = Pattern.compile("\\.granary-[0-9a-f]{16}");

    /** Names of locks, of files that are being written, and of databases. */
    private static final Pattern REFUSED = Pattern.compile("(?i)\\.nfs.*|.*[.~](tmp|temp|part|swp)"
            + "|.*\\.tmp[._-].*|tmp[._-].*|(.*[._-])?lo?ck|.*\\.pid|.*\\.sqlite3?|.*\\.u?db"
            + "|.*[.-](wal|shm|journal)|.*\\.foz|.*\\.mdb");

    /** The first bytes of databases, which must not be copied while they are used. */
    private static final Pattern DATABASE = Pattern.compile(
            "(SQLite format 3|MESA_DB|\\u0081FOSSILIZEDB|.{16}\\u00de\\u00c0\\u00ef\\u00be).*",
            Pattern.DOTALL);

    private static final int MAGIC_BYTES = 32;

    /** The age of the last read of a file that was not read since it was installed. */
    private static final Duration UNREAD = Duration.ofDays(1);

    private static final Pattern OPEN_FLAGS = Pattern.compile("flags:\\s*([0-7]+)");

    private final Path root;
    private final Tool tool;

    private CacheDirectory(Path root, Tool tool) {
        this.root = root;
        this.tool = tool;
    }

    /** Returns the directory of a tool, which is created if it does not exist. */
    static CacheDirectory open(Path directory, Tool tool) throws IOException {
        Files.createDirectories(directory);
        return new CacheDirectory(directory.toRealPath(), tool);
    }

    /**
     * State of a file without its content; another one shows that it was written.
     *
     * @param key identifies the file in its file system; null if it has no such keys
     */
    record Stamp(long bytes, FileTime modified, @Nullable Object key) {}

    Path root() {
        return root;
    }

    /**
     * Returns the files that may be shared, in groups: by the path of the group, the files below it
     * by their paths. Removes what ended processes have left of files that they installed.
     */
    SortedMap<String, SortedMap<String, Stamp>> scan() throws IOException {
        SortedMap<String, SortedMap<String, Stamp>> groups = new TreeMap<>();
        Files.walkFileTree(root, Set.of(), MAX_DEPTH, new Scan(groups));
        return groups;
    }

    /** Visitor that collects the files that may be shared. */
    private final class Scan extends SimpleFileVisitor<Path> {
        private final SortedMap<String, SortedMap<String, Stamp>> groups;
        private final FileTime abandoned = FileTime.from(Instant.now().minus(ABANDONED));
        private int files;

        Scan(SortedMap<String, SortedMap<String, Stamp>> groups) {
            this.groups = groups;
        }

        @Override
        public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes)
                throws IOException {
            return isUnfinished(directory, attributes)
                    ? FileVisitResult.SKIP_SUBTREE
                    : FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                throws IOException {
            String name = file.getFileName().toString();
            if (!isUnfinished(file, attributes)
                    && attributes.isRegularFile()
                    && attributes.size() > 0
                    && attributes.size() <= MAX_BYTES
                    && isShared(name)) {
                String path = root.relativize(file)
                        .toString()
                        .replace(file.getFileSystem().getSeparator(), "/");
                if (FileGroup.isSafe(path)) {
                    String group = groupOf(path);
                    groups.computeIfAbsent(group, _ -> new TreeMap<>())
                            .put(
                                    group.length() == path.length()
                                            ? ""
                                            : path.substring(group.length() + 1),
                                    stamp(attributes));
                }
            }
            return ++files == MAX_FILES ? FileVisitResult.TERMINATE : FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFileFailed(Path file, IOException cause) {
            return FileVisitResult.CONTINUE; // removed meanwhile, or not readable
        }

        @Override
        public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException cause) {
            return FileVisitResult.CONTINUE;
        }

        /** Returns true for a file that is being installed; removes it if nobody does so. */
        private boolean isUnfinished(Path file, BasicFileAttributes attributes) throws IOException {
            boolean isUnfinished =
                    UNFINISHED.matcher(file.getFileName().toString()).matches();
            if (isUnfinished && attributes.lastModifiedTime().compareTo(abandoned) < 0) {
                FileTrees.delete(file);
            }
            return isUnfinished;
        }
    }

    /** Returns whether files of this name are shared: no lock, no database, nothing unfinished. */
    private boolean isShared(String name) {
        return !UNFINISHED.matcher(name).matches()
                && !REFUSED.matcher(name).matches()
                && !tool.excluded().matcher(name).matches();
    }

    /** Returns the path of the group of a file: the first directory that is shared as a whole. */
    private String groupOf(String path) {
        for (int end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
            String directory = path.substring(0, end);
            if (tool.group().filter(group -> group.matcher(directory).matches()).isPresent()) {
                return directory;
            }
        }
        return path;
    }

    private static Stamp stamp(BasicFileAttributes attributes) {
        return new Stamp(attributes.size(), attributes.lastModifiedTime(), attributes.fileKey());
    }

    /**
     * Reads the files of a group.
     *
     * @param stamps the files with their state, as {@link #scan} returned them
     * @throws IOException if one cannot be read, or was written since the scan
     */
    FileGroup read(String group, SortedMap<String, Stamp> stamps) throws IOException {
        SequencedMap<String, MemorySegment> files = new LinkedHashMap<>();
        long bytes = stamps.values().stream().mapToLong(Stamp::bytes).sum();
        if (bytes > MAX_BYTES) {
            throw new IOException(group + " has more than " + (MAX_BYTES >> 20) + " MiB");
        }
        for (Map.Entry<String, Stamp> expected : stamps.entrySet()) {
            Path file = root.resolve(group).resolve(expected.getKey());
            byte[] content;
            try (SeekableByteChannel in = Files.newByteChannel(
                    file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
                content = Channels.newInputStream(in)
                        .readNBytes(Math.toIntExact(expected.getValue().bytes() + 1));
            }
            BasicFileAttributes after = Files.readAttributes(
                    file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            if (content.length != after.size() || !stamp(after).equals(expected.getValue())) {
                throw new IOException(group + " is being written");
            }
            files.put(expected.getKey(), MemorySegment.ofArray(content));
        }
        return new FileGroup(group, files);
    }

    /** Checks that no file of a group is a database. */
    void requireNoDatabase(String group, SortedMap<String, Stamp> stamps) throws IOException {
        for (String name : stamps.keySet()) {
            try (SeekableByteChannel in = Files.newByteChannel(
                    root.resolve(group).resolve(name),
                    StandardOpenOption.READ,
                    LinkOption.NOFOLLOW_LINKS)) {
                requireNoDatabase(group, Channels.newInputStream(in).readNBytes(MAGIC_BYTES));
            }
        }
    }

    private static void requireNoDatabase(String group, byte[] content) throws IOException {
        String start = new String(content, 0, Math.min(content.length, MAGIC_BYTES), ISO_8859_1);
        if (DATABASE.matcher(start).matches()) {
            throw new IOException(group + " is a database");
        }
    }

    /**
     * Installs the files of a group, which appear as a whole. Nothing that exists is changed.
     *
     * @return false if the path exists already
     * @throws IOException if they must not be there, or cannot be written
     */
    boolean install(FileGroup group) throws IOException {
        if (group.bytes() > MAX_BYTES) {
            throw new IOException(group.path() + " has more than " + (MAX_BYTES >> 20) + " MiB");
        }
        for (Map.Entry<String, MemorySegment> file : group.files().entrySet()) {
            String path =
                    file.getKey().isEmpty() ? group.path() : group.path() + "/" + file.getKey();
            if (!isShared(path.substring(path.lastIndexOf('/') + 1))
                    || !groupOf(path).equals(group.path())) {
                throw new IOException(path + " is no file that is shared");
            }
            long start = Math.min(MAGIC_BYTES, file.getValue().byteSize());
            requireNoDatabase(
                    path, file.getValue().asSlice(0, start).toArray(ValueLayout.JAVA_BYTE));
        }
        Path place = root.resolve(group.path());
        if (Files.exists(place, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        Path parent = Objects.requireNonNull(place.getParent());
        createDirectories(root, parent);
        Path written = parent.resolve(unfinished());
        try {
            for (Map.Entry<String, MemorySegment> file : group.files().entrySet()) {
                write(file.getValue(), written, file.getKey());
            }
            return publish(written, place);
        } finally {
            FileTrees.delete(written);
        }
    }

    private static void write(MemorySegment content, Path written, String name) throws IOException {
        Path file = name.isEmpty() ? written : written.resolve(name);
        createDirectories(
                Objects.requireNonNull(written.getParent()),
                Objects.requireNonNull(file.getParent()));
        try (FileChannel out =
                FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            for (ByteBuffer rest = content.asByteBuffer(); rest.hasRemaining(); ) {
                out.write(rest);
            }
        }
        // most file systems record a read only if the last one was before the last write
        Instant now = Instant.now();
        Files.getFileAttributeView(file, BasicFileAttributeView.class)
                .setTimes(FileTime.from(now), FileTime.from(now.minus(UNREAD)), null);
    }

    /** Moves what was written to its place, unless that exists. */
    private static boolean publish(Path written, Path place) throws IOException {
        try {
            if (Files.isDirectory(written)) { // a rename replaces no directory that has files
                Files.move(written, place, StandardCopyOption.ATOMIC_MOVE);
            } else {
                Files.createLink(place, written); // a rename would replace a file
            }
            return true;
        } catch (FileAlreadyExistsException | DirectoryNotEmptyException e) {
            return false;
        } catch (UnsupportedOperationException | FileSystemException e) {
            if (Files.exists(place, LinkOption.NOFOLLOW_LINKS)) {
                return false;
            }
            Files.move(written, place); // a file system without links
            return true;
        }
    }

    /** Creates the directories from {@code base} to {@code last}, without following a link. */
    private static void createDirectories(Path base, Path last) throws IOException {
        Files.createDirectories(base);
        Path directory = base;
        for (Path name : base.equals(last) ? List.<Path>of() : base.relativize(last)) {
            directory = directory.resolve(name);
            try {
                Files.createDirectory(directory);
            } catch (FileAlreadyExistsException e) {
                if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
                    throw e;
                }
            }
        }
    }

    /** Returns whether a file is one of a group. */
    boolean has(String group, Path file) {
        return file.startsWith(root.resolve(group));
    }

    /** Removes the files of a group that was installed and not used yet. */
    void remove(String group) throws IOException {
        FileTrees.delete(root.resolve(group));
    }

    /** Returns how many files of an installed group were read since. */
    int opened(String group, Set<String> names) {
        int opened = 0;
        for (String name : names) {
            try {
                BasicFileAttributes now = Files.readAttributes(
                        root.resolve(group).resolve(name), BasicFileAttributes.class);
                // not exactly: the system's clock of reads is some milliseconds behind, and that of
                // a file server is another one
                Instant unread =
                        now.lastModifiedTime().toInstant().minusMillis(UNREAD.toMillis() / 2);
                if (now.lastAccessTime().toInstant().isAfter(unread)) {
                    opened++;
                }
            } catch (IOException e) {
                // the program has removed it
            }
        }
        return opened;
    }

    /** Returns whether the file system records that a file was read, as {@link #opened} needs. */
    boolean recordsReads() {
        String probe = unfinished();
        Path file = root.resolve(probe);
        try {
            write(MemorySegment.ofArray(new byte[1]), file, "");
            try {
                return Files.readAllBytes(file).length == 1 && opened(probe, Set.of("")) == 1;
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            return false;
        }
    }

    private static String unfinished() {
        return ".granary-"
                + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
    }

    /**
     * Returns the files below this directory that a process has open for writing, as far as the
     * system tells this user.
     */
    Set<Path> openForWriting() {
        Set<Path> open = new HashSet<>();
        try (DirectoryStream<Path> processes =
                Files.newDirectoryStream(Path.of("/proc"), "[1-9]*")) {
            for (Path process : processes) {
                addOpen(process, open);
            }
        } catch (IOException | DirectoryIteratorException e) {
            // another system: what changes is not shared either
        }
        return open;
    }

    private void addOpen(Path process, Set<Path> open) {
        try (DirectoryStream<Path> handles = Files.newDirectoryStream(process.resolve("fd"))) {
            for (Path handle : handles) {
                Path file = Files.readSymbolicLink(handle);
                if (file.startsWith(root)) {
                    String info = Files.readString(
                            process.resolve("fdinfo").resolve(handle.getFileName()));
                    Matcher flags = OPEN_FLAGS.matcher(info);
                    if (!flags.find() || (Long.parseLong(flags.group(1), 8) & 3) != 0) {
                        open.add(file);
                    }
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            // it has ended, or is of another user
        }
    }
}
