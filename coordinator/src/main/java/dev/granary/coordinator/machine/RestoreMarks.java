package dev.granary.coordinator.machine;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.Warnings;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * File of the restores that are under way in one process, or of its trials of plans. Each has a
 * slot with the digests of its id and its content; the bytes of a free slot are zero. The slots in
 * use in the file of an ended process are the restores or trials that it did not survive.
 * Thread-safe.
 */
final class RestoreMarks implements AutoCloseable {
    private static final int SLOT_BYTES = 2 * Sha256.BYTES;
    private static final int MAX_FILE_BYTES = 1 << 20; // of another process, possibly damaged
    private static final byte[] FREE_SLOT = new byte[SLOT_BYTES];
    private static final Pattern NAME = Pattern.compile("[0-9a-f]{64}-[0-9a-f]{64}");

    private final Path path;
    private final BitSet used = new BitSet(); // guarded by this
    // guarded by this; not a channel, which an interrupt of any thread would close
    private @Nullable RandomAccessFile file;
    private boolean isClosed; // guarded by this

    /** Creates marks in {@code path}, a file that the first mark creates. */
    RestoreMarks(Path path) {
        this.path = path;
    }

    /**
     * Marks a restore of the content with this id until the result is closed.
     *
     * @throws IOException if the file cannot be written, and the restore is not marked
     */
    synchronized RestoreQuarantine.Restore mark(Sha256 id, Sha256 content) throws IOException {
        // Allocates before it writes: a mark that no caller holds would stay.
        byte[] slot = Arrays.copyOf(id.bytes(), SLOT_BYTES);
        System.arraycopy(content.bytes(), 0, slot, Sha256.BYTES, Sha256.BYTES);
        int position = used.nextClearBit(0);
        RestoreQuarantine.Restore mark = () -> free(position);
        used.set(position);
        try {
            write(position, slot);
        } catch (IOException e) {
            used.clear(position);
            throw e;
        }
        return mark;
    }

    private synchronized void free(int position) {
        try {
            if (!isClosed) {
                write(position, FREE_SLOT);
                used.clear(position);
            }
        } catch (IOException e) {
            Warnings.warn("quarantine", "The mark of a restore could not be removed: " + e);
        }
    }

    private void write(int slot, byte[] bytes) throws IOException {
        RandomAccessFile open = file;
        if (isClosed) {
            throw new IOException(path + " is closed");
        }
        if (open == null) {
            open = new RandomAccessFile(path.toFile(), "rw");
            file = open;
        }
        open.seek((long) slot * SLOT_BYTES);
        open.write(bytes);
    }

    @Override
    public synchronized void close() throws IOException {
        isClosed = true;
        if (file != null) {
            file.close();
        }
        Files.deleteIfExists(path);
    }

    /**
     * Returns the marks in the file of an ended process, each as the digests of id and content in
     * hexadecimal digits with a hyphen between them; none if there is no such file, or another
     * object in its place. Bytes after the last whole slot are ignored.
     *
     * @throws IOException if the file cannot be read
     */
    static Set<String> read(Path path) throws IOException {
        if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
            return Set.of(); // opening a pipe would block
        }
        byte[] bytes;
        try (InputStream in = Files.newInputStream(path)) {
            bytes = in.readNBytes(MAX_FILE_BYTES);
        }
        Set<String> marks = new LinkedHashSet<>();
        for (int at = 0; at + SLOT_BYTES <= bytes.length; at += SLOT_BYTES) {
            byte[] slot = Arrays.copyOfRange(bytes, at, at + SLOT_BYTES);
            if (!Arrays.equals(slot, FREE_SLOT)) {
                marks.add(name(
                        Arrays.copyOf(slot, Sha256.BYTES),
                        Arrays.copyOfRange(slot, Sha256.BYTES, SLOT_BYTES)));
            }
        }
        return marks;
    }

    /** Returns the name of the mark of {@code entry}, in the form of {@link #read}. */
    static String name(Entry entry) {
        return name(entry.id().hash(), entry.contentHash());
    }

    /** Returns the name of the mark of the content with this id, in the form of {@link #read}. */
    static String name(Sha256 id, Sha256 content) {
        return name(id.bytes(), content.bytes());
    }

    /** Returns true for a name in the form of {@link #read}. */
    static boolean isName(String name) {
        return NAME.matcher(name).matches();
    }

    private static String name(byte[] id, byte[] content) {
        return HexFormat.of().formatHex(id) + "-" + HexFormat.of().formatHex(content);
    }
}
