package dev.granary.local;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.format.TrustPolicy;

import org.jspecify.annotations.Nullable;

import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * Tree of entries, one file each: {@code v3/<backend>/<target>/<hh>/<hash>.entry} in a directory,
 * where {@code hh} is the start of the hash. A file has the encoded entry and nothing else.
 * Thread-safe.
 *
 * <p>It is the form of the {@linkplain LocalTier local tier}, which adds a capacity and the last
 * use, and of the directories that {@code granary copy} reads and writes.
 *
 * <p>A file is written beside its place and renamed, so a reader finds an entry as a whole or not
 * at all. There is no other state: any process may add, replace or remove any file at any time.
 * Nothing is synced. After a power cut a file may be torn, which its length and checksums reveal.
 */
public final class EntryFiles implements EntryCatalog {
    static final String TREE = "v3";

    /** Age from which a file that was not renamed has no writer any more. */
    static final Duration ABANDONED = Duration.ofHours(1);

    private static final String SUFFIX = ".entry";
    private static final int HASH_DIGITS = 2 * Sha256.BYTES;
    private static final int DIRECTORY_DIGITS = 2;
    private static final int DEPTH = 4;
    private static final int ATTEMPTS = 3;

    /** The number of attempts of a store whose files or directories others remove. */
    private static final int REMOVALS = 10;

    private static final long OPEN_READER_PAUSE_NANOS = 10_000_000;
    private static final int CHUNK = 256 << 10;
    private static final int HEADER = 128; // its fixed part, but no whole entry

    // kept, since a path takes a third of a lookup in a new process
    private final Map<Target, Path> targets = new ConcurrentHashMap<>();
    private final Path root;
    private final boolean isPrivate;
    private final StoreStep.Listener steps;

    /**
     * Creates the tree in a directory, which need not exist, private to this user.
     *
     * @param steps is called after each step of a change
     */
    EntryFiles(Path directory, StoreStep.Listener steps) {
        this(directory, true, steps);
    }

    private EntryFiles(Path directory, boolean isPrivate, StoreStep.Listener steps) {
        this.root = directory.resolve(TREE);
        this.isPrivate = isPrivate;
        this.steps = steps;
    }

    /**
     * Returns the tree in {@code directory}, which need not exist, is not checked, and is created
     * by the first {@link #store}, private to this user.
     */
    public static EntryFiles in(Path directory) {
        return new EntryFiles(directory.toAbsolutePath().normalize(), StoreStep.Listener.NONE);
    }

    /**
     * Returns the tree in {@code directory} as {@link #in} does, but for several users: new files
     * have the permissions that the umask leaves.
     */
    public static EntryFiles shared(Path directory) {
        return new EntryFiles(
                directory.toAbsolutePath().normalize(), false, StoreStep.Listener.NONE);
    }

    /** Returns whether the directory has a tree, perhaps without entries. */
    public boolean exists() {
        return Files.isDirectory(root, LinkOption.NOFOLLOW_LINKS);
    }

    /**
     * Bytes in the place of an entry, as read once.
     *
     * @param result the verified entry or the kind of miss
     * @param lastUse the time of the file; {@link FileTime} 0 if there is none
     */
    record Found(LoadResult result, FileTime lastUse) {
        static final Found ABSENT = new Found(LoadResult.ABSENT, FileTime.fromMillis(0));
    }

    /** Verifier of the bytes of an entry. */
    @FunctionalInterface
    interface Decoder {
        LoadResult decode(MemorySegment stored);
    }

    /** Condition on a file that was set aside. */
    @FunctionalInterface
    interface AsideCheck {
        boolean test(Path aside) throws IOException;
    }

    /** Kind of a file in the tree. */
    enum Kind {
        /** An entry in its place. */
        ENTRY,
        /** A file that is being written or removed, or that an ended process left behind. */
        UNFINISHED,
        /** Any other file. */
        FOREIGN;

        private static final Pattern NAME = Pattern.compile("[0-9a-f]{64}\\.(entry|[0-9a-f]{16})");

        private static Kind of(Path file, BasicFileAttributes attributes, int names) {
            String name = file.getFileName().toString();
            return !attributes.isRegularFile()
                            || file.getNameCount() != names
                            || !NAME.matcher(name).matches()
                            || !name.startsWith(file.getName(names - 2).toString())
                    ? FOREIGN
                    : name.endsWith(SUFFIX) ? ENTRY : UNFINISHED;
        }
    }

    /** Visitor of the files of the tree. */
    @FunctionalInterface
    interface Visitor {
        /** Visits a file. */
        void visit(Kind kind, Path file, BasicFileAttributes attributes) throws IOException;

        /** Called for a file or directory that cannot be read; throws {@code cause} by default. */
        default void unreadable(IOException cause) throws IOException {
            throw cause;
        }

        /** Called after the files of a directory. */
        default void left(Path directory) {}

        /** Returns whether the walk is to end. */
        default boolean isDone() {
            return false;
        }
    }

    /** Returns the file of an entry, which need not exist. */
    Path file(Id id) {
        Path target = targets.computeIfAbsent(id.target(), each -> root.resolve(each.path()));
        return file(target, id.hash().hex());
    }

    /**
     * Returns the file of a listed entry, which need not exist.
     *
     * @throws NoSuchFileException if its namespace is none, but for example leads out of the tree
     */
    Path file(EntryCatalog.Listed listed) throws NoSuchFileException {
        Path target = root.resolve(listed.namespace()).normalize();
        if (!target.startsWith(root) || target.getNameCount() != root.getNameCount() + 2) {
            throw new NoSuchFileException(listed.namespace());
        }
        return file(target, listed.hash().hex());
    }

    private static Path file(Path target, String hash) {
        return target.resolve(hash.substring(0, DIRECTORY_DIGITS) + "/" + hash + SUFFIX);
    }

    /** Returns the namespace of the file of an entry. */
    static String namespace(Path file) {
        int backend = file.getNameCount() - DEPTH;
        return file.getName(backend) + "/" + file.getName(backend + 1);
    }

    /** Returns the hash of the id of the file of an entry. */
    static Sha256 hash(Path file) {
        return Sha256.parse(file.getFileName().toString().substring(0, HASH_DIGITS));
    }

    @Override
    public void list(Consumer<Listed> visitor) throws IOException {
        walk((kind, file, attributes) -> {
            if (kind == Kind.ENTRY) {
                visitor.accept(new Listed(
                        namespace(file),
                        hash(file),
                        attributes.size(),
                        attributes.lastModifiedTime().toMillis()));
            }
        });
    }

    /**
     * Reads a listed entry and verifies all of it: header, checksums, SHA-256 of the content, id
     * and target. The read does not count as a use.
     */
    @Override
    public LoadResult read(Listed listed) {
        return readListed(listed, null);
    }

    @Override
    public LoadResult read(Listed listed, Arena memory) {
        return readListed(listed, memory);
    }

    private LoadResult readListed(Listed listed, @Nullable Arena memory) {
        try {
            return read(file(listed), memory, stored -> decode(stored, listed)).result();
        } catch (NoSuchFileException e) {
            return LoadResult.ABSENT;
        } catch (IOException e) {
            return new LoadResult.Unavailable(e.toString());
        }
    }

    private static LoadResult decode(MemorySegment stored, Listed listed) {
        LoadResult result = EntryFormat.decode(stored, VerificationLevel.CONTENT_HASH);
        return result instanceof LoadResult.Hit hit
                        && !(hit.entry().id().hash().equals(listed.hash())
                                && hit.entry().id().target().path().equals(listed.namespace()))
                ? new LoadResult.Damaged(DamageKind.WRONG_KEY, "a sound entry, but of another id")
                : result;
    }

    /**
     * Stores an entry in its place, and replaces whatever is there.
     *
     * @return {@code Stored}; {@code Refused} if the entry is larger than
     *     {@link EntryFormat#MAX_BYTES} or the directory is read-only; {@code Failed} if the disk
     *     is full or fails
     */
    public StoreResult store(Entry entry) {
        Path file = file(entry.id());
        try {
            List<MemorySegment> parts = encode(entry);
            write(file, parts, InstantSource.system());
            return new StoreResult.Stored(length(parts));
        } catch (IllegalArgumentException e) {
            return tooLarge(EntryFormat.MAX_BYTES + 1, EntryFormat.MAX_BYTES);
        } catch (IOException e) {
            return failure(file, e);
        }
    }

    /**
     * Returns an entry as it is stored.
     *
     * @throws IllegalArgumentException if it is larger than {@link EntryFormat#MAX_BYTES}
     */
    static List<MemorySegment> encode(Entry entry) {
        return EntryFormat.encodeParts(entry, Compression.NONE);
    }

    static long length(List<MemorySegment> parts) {
        return parts.stream().mapToLong(MemorySegment::byteSize).sum();
    }

    static StoreResult.Refused tooLarge(long bytes, long limit) {
        return new StoreResult.Refused(
                StoreResult.Scope.ENTRY,
                "an entry of " + bytes + " bytes exceeds the limit of " + limit + " bytes");
    }

    /** Returns a directory, or its nearest parent that exists, in which it would be created. */
    public static Path existing(Path directory) {
        Path parent = directory.getParent();
        return parent != null && Files.notExists(directory) ? existing(parent) : directory;
    }

    /** Returns the result of a store whose write failed. */
    StoreResult failure(Path file, IOException cause) {
        Path denied = cause instanceof AccessDeniedException
                ? existing(file.resolveSibling("")) // its directory
                : root.getParent();
        // exists: Windows denies access to files in use, too
        return denied != null && Files.exists(denied) && !Files.isWritable(denied)
                ? new StoreResult.Refused(
                        StoreResult.Scope.STORE, "the directory cannot be written: " + cause)
                : new StoreResult.Failed(cause.toString());
    }

    /**
     * Reads and verifies a file. Anything but a regular file counts as absent, and is not opened.
     *
     * @param memory the arena for the bytes; null: memory that the garbage collector frees
     * @throws IOException if the system cannot read the file, twice: a file server may answer that
     *     a handle is stale because the file was replaced
     */
    Found read(Path file, @Nullable Arena memory, Decoder decoder) throws IOException {
        try {
            return readOnce(file, memory, decoder);
        } catch (NoSuchFileException e) {
            return Found.ABSENT;
        } catch (IOException e) {
            try {
                return readOnce(file, memory, decoder);
            } catch (NoSuchFileException absent) {
                return Found.ABSENT;
            }
        }
    }

    private static Found readOnce(Path file, @Nullable Arena memory, Decoder decoder)
            throws IOException {
        BasicFileAttributes attributes =
                Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (!attributes.isRegularFile()) {
            return Found.ABSENT; // opening a pipe would wait for its writer
        }
        LoadResult result;
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            result = read(channel, memory, decoder);
        } catch (ClosedByInterruptException e) {
            result = readUninterrupted(file, memory, decoder);
        }
        return new Found(result, attributes.lastModifiedTime());
    }

    private static LoadResult read(FileChannel channel, @Nullable Arena memory, Decoder decoder)
            throws IOException {
        long size = channel.size();
        if (size > EntryFormat.MAX_BYTES) {
            return new LoadResult.Damaged(DamageKind.TOO_LARGE, size + " bytes");
        }
        if (size > CHUNK) { // do not allocate for bytes that cannot be an entry
            ByteBuffer start = ByteBuffer.allocate(HEADER);
            channel.read(start, 0);
            long stated = EntryFormat.statedLength(start.flip(), 0);
            if (stated != size) {
                LoadResult result = decoder.decode(MemorySegment.ofBuffer(start));
                return result instanceof LoadResult.Damaged bad
                                && bad.damage() == DamageKind.TRUNCATED
                        ? wrongLength(stated, size)
                        : result; // foreign, or cut in its header
            }
        }
        MemorySegment bytes;
        try {
            bytes = allocate(memory, size);
        } catch (OutOfMemoryError e) {
            return tooLittleMemory(size);
        }
        ByteBuffer buffer = bytes.asByteBuffer();
        while (buffer.hasRemaining() && channel.read(buffer) >= 0) {}
        return decoder.decode(bytes.asSlice(0, buffer.position()));
    }

    /**
     * Allocates memory of the arena, or memory that the garbage collector frees. The JVM clears
     * that of a buffer; an arena clears it by a loop in Java, which is slow in a new process.
     */
    private static MemorySegment allocate(@Nullable Arena memory, long size) {
        return memory == null
                ? MemorySegment.ofBuffer(ByteBuffer.allocateDirect((int) size))
                : memory.allocate(size);
    }

    /**
     * Reads a file again after an interrupt closed the channel. A stream ignores interrupts, but
     * needs a copy on the heap.
     */
    private static LoadResult readUninterrupted(Path file, @Nullable Arena memory, Decoder decoder)
            throws IOException {
        try (InputStream in = new FileInputStream(file.toFile())) {
            byte[] copy = in.readAllBytes();
            return decoder.decode(
                    allocate(memory, copy.length).copyFrom(MemorySegment.ofArray(copy)));
        } catch (OutOfMemoryError e) {
            return tooLittleMemory(Files.size(file));
        }
    }

    private static LoadResult wrongLength(long stated, long size) {
        return new LoadResult.Damaged(
                stated > size ? DamageKind.TRUNCATED : DamageKind.EXTENDED,
                size + " bytes, but its header states " + stated);
    }

    private static LoadResult tooLittleMemory(long size) {
        return new LoadResult.Unavailable(
                "the entry needs " + size + " bytes, more than this process has left");
    }

    /**
     * Stores an entry in its place, and replaces whatever is there.
     *
     * @param parts the encoded entry
     * @param clock the clock of the times of files: that of the system, or one of a test
     * @throws IOException if it could not be written; nothing of it remains
     */
    void write(Path file, List<MemorySegment> parts, InstantSource clock) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                if (attempt > 1) {
                    Files.createDirectories(
                            file.getParent(),
                            isPrivate
                                    ? DirectoryValidator.privateDirectory(root)
                                    : new FileAttribute<?>[0]);
                }
                writeOnce(file, parts, clock);
                return;
            } catch (NoSuchFileException | FileNotFoundException | FileAlreadyExistsException e) {
                // The directory is missing, or something was removed. A file server that repeats a
                // rename reports this too, after a success: then the entry is written twice.
                if (attempt == REMOVALS) {
                    throw e;
                }
            } catch (FileSystemException e) {
                if (attempt >= ATTEMPTS || !makeWay(file, e)) {
                    throw e;
                }
            }
        }
    }

    private void writeOnce(Path file, List<MemorySegment> parts, InstantSource clock)
            throws IOException {
        Path written = beside(file);
        FileChannel channel = FileChannel.open(
                written,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                isPrivate ? DirectoryValidator.privateFile(root) : new FileAttribute<?>[0]);
        try {
            try (channel) {
                writeParts(parts, channel::write);
            } catch (ClosedByInterruptException e) {
                try (FileOutputStream out = new FileOutputStream(written.toFile())) {
                    writeParts(parts, chunk -> {
                        byte[] bytes = new byte[chunk.remaining()];
                        chunk.get(bytes);
                        out.write(bytes); // ignores interrupts
                    });
                }
            }
            if (!clock.equals(InstantSource.system())) { // the file system has set that of its own
                Files.setLastModifiedTime(written, FileTime.from(clock.instant()));
            }
            steps.done(StoreStep.WRITTEN);
            Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException | RuntimeException | Error e) {
            Files.deleteIfExists(written);
            throw e;
        }
        steps.done(StoreStep.IN_PLACE);
    }

    /** Writer of a part of a file. */
    private interface Writer {
        void write(ByteBuffer chunk) throws IOException;
    }

    /** Writes in chunks, since a channel copies what is on the heap. */
    private void writeParts(List<MemorySegment> parts, Writer out) throws IOException {
        for (MemorySegment part : parts) {
            for (long at = 0; at < part.byteSize(); at += CHUNK) {
                ByteBuffer chunk =
                        part.asSlice(at, Math.min(CHUNK, part.byteSize() - at)).asByteBuffer();
                while (chunk.hasRemaining()) {
                    out.write(chunk);
                }
                steps.done(StoreStep.PART_WRITTEN);
            }
        }
    }

    /**
     * Returns whether another attempt may succeed: a directory was in the place of the file, or
     * Windows does not replace a file that a reader has open.
     */
    private static boolean makeWay(Path file, FileSystemException cause) throws IOException {
        if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
            Files.move(file, beside(file), StandardCopyOption.ATOMIC_MOVE);
            return true;
        }
        if (cause instanceof AccessDeniedException && Files.exists(file)) {
            LockSupport.parkNanos(OPEN_READER_PAUSE_NANOS);
            return true;
        }
        return false;
    }

    /**
     * Sets a file aside, where no store can replace it, and removes it if {@code check} accepts it.
     * Otherwise it is put back, unless a new one is in its place by then. Returns whether it was
     * removed.
     */
    boolean removeIf(Path file, AsideCheck check) throws IOException {
        Path aside = beside(file);
        try {
            Files.move(file, aside, StandardCopyOption.ATOMIC_MOVE);
        } catch (NoSuchFileException e) {
            return false;
        }
        steps.done(StoreStep.SET_ASIDE);
        boolean isRemoved = false;
        try {
            isRemoved = check.test(aside);
        } finally {
            if (!isRemoved) {
                link(aside, file);
                steps.done(StoreStep.PUT_BACK);
            }
            Files.deleteIfExists(aside);
        }
        return isRemoved;
    }

    /**
     * Sets the time of a file to that of a use, if they differ by more than {@code resolution}.
     *
     * @return false if the file is gone
     */
    static boolean recordUse(Path file, FileTime last, long nowMillis, Duration resolution) {
        if (Math.abs(nowMillis - last.toMillis()) > resolution.toMillis()) {
            try {
                Files.setLastModifiedTime(file, FileTime.fromMillis(nowMillis));
            } catch (NoSuchFileException e) {
                return false;
            } catch (IOException e) {
                return true; // read-only, or the file of another user
            }
        }
        return true;
    }

    /** Removes a damaged file, unless it was replaced meanwhile; returns whether it was removed. */
    boolean removeDamaged(Path file, Decoder decoder) throws IOException {
        return removeIf(file, aside -> {
            try (Arena memory = Arena.ofConfined()) {
                return isRemovable(read(aside, memory, decoder).result());
            }
        });
    }

    /**
     * Returns whether a lookup removes what it found. Another version may read an entry, a process
     * with more memory, or one that trusts others.
     */
    static boolean isRemovable(LoadResult found) {
        return found instanceof LoadResult.Damaged bad
                && bad.damage() != DamageKind.TOO_NEW
                && bad.damage() != DamageKind.TOO_OLD
                && bad.damage() != DamageKind.TOO_LARGE
                && bad.damage() != DamageKind.UNTRUSTED;
    }

    /**
     * Removes a listed entry unless it was replaced or used since.
     *
     * @return whether it was removed
     * @throws IOException if it is there and cannot be removed
     */
    public boolean remove(Listed listed) throws IOException {
        try {
            Path file = file(listed);
            boolean isRemoved = removeIf(file, aside -> {
                BasicFileAttributes attributes = Files.readAttributes(
                        aside, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
                return attributes.size() == listed.bytes()
                        && attributes.lastModifiedTime().toMillis() == listed.lastUsedMillis();
            });
            Path directory = file.resolveSibling("");
            if (isRemoved && removeEmpty(directory)) {
                removeEmpty(directory.resolveSibling("")); // that of the target
            }
            return isRemoved;
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /** Removes unfinished files that were last written before then; returns their number. */
    public long removeUnfinished(Instant before) throws IOException {
        long[] removed = {0};
        walk((kind, file, attributes) -> {
            if (kind == Kind.UNFINISHED
                    && attributes.lastModifiedTime().toInstant().isBefore(before)
                    && Files.deleteIfExists(file)) {
                removed[0]++;
            }
        });
        return removed[0];
    }

    /** Removes a directory if it is empty; a store creates it again. */
    static boolean removeEmpty(Path directory) {
        try {
            Files.delete(directory);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Counts the contents of the directory.
     *
     * @throws IOException if it cannot be read
     */
    public DirectoryUsage usage() throws IOException {
        return DirectoryUsage.of(this, root.resolveSibling(""));
    }

    /** Removes the file of an entry, unless it has other content. */
    boolean remove(Entry entry, Decoder decoder) throws IOException {
        return removeIf(file(entry.id()), aside -> {
            try (Arena memory = Arena.ofConfined()) {
                return isSame(read(aside, memory, decoder), entry);
            }
        });
    }

    /** Returns whether a file has the content of an entry, and a signature as good as its. */
    static boolean isInPlace(Found found, Entry entry, TrustPolicy trust) {
        return isSame(found, entry)
                && found.result() instanceof LoadResult.Hit(Entry there)
                && !trust.prefers(entry, there);
    }

    /** Returns whether a file has the content of an entry. */
    static boolean isSame(Found found, Entry entry) {
        return found.result() instanceof LoadResult.Hit hit
                && hit.entry().contentHash().equals(entry.contentHash());
    }

    /** Gives a complete file its name, unless there is a file of that name; returns whether. */
    static boolean link(Path complete, Path file) throws IOException {
        try {
            Files.createLink(file, complete);
            return true;
        } catch (FileAlreadyExistsException e) {
            return false;
        } catch (UnsupportedOperationException | IOException e) { // no links here, as on SMB
            if (!Files.notExists(file, LinkOption.NOFOLLOW_LINKS)) {
                return false;
            }
            Files.move(complete, file, StandardCopyOption.ATOMIC_MOVE); // two may both succeed
            return true;
        }
    }

    private static Path beside(Path file) {
        String hash = file.getFileName().toString().substring(0, HASH_DIGITS);
        return file.resolveSibling(hash + "."
                + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong()));
    }

    /**
     * Visits all files, in no particular order. Files that appear or disappear meanwhile may be
     * left out.
     */
    void walk(Visitor visitor) throws IOException {
        Files.walkFileTree(root, Set.of(), DEPTH, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                    throws IOException {
                if (file.equals(root)) {
                    throw new FileSystemException(
                            root.toString(), null, "not a directory; remove it");
                }
                visitor.visit(
                        Kind.of(file, attributes, root.getNameCount() + DEPTH), file, attributes);
                return visitor.isDone() ? FileVisitResult.TERMINATE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException cause)
                    throws IOException {
                if (!(cause instanceof NoSuchFileException)) {
                    visitor.unreadable(cause);
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException cause)
                    throws IOException {
                if (cause != null && !(cause instanceof NoSuchFileException)) {
                    visitor.unreadable(cause);
                }
                visitor.left(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
