package dev.granary.local.file;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;

/**
 * The open files of one directory in this process: the state page, the current index, the segments.
 * Thread-safe.
 */
public final class OpenStoreFiles {
    private static final int ATTEMPTS = 10;

    private final StoreLayout layout;
    private final StatePage state;
    private final SegmentPool segments;
    private volatile @Nullable EntryIndex index;

    /** Creates the files of an open state page; the others are opened when they are needed. */
    public OpenStoreFiles(StoreLayout layout, StatePage state) {
        this.layout = layout;
        this.state = state;
        this.segments = new SegmentPool(layout);
    }

    /**
     * Opens the state page for reading and writing, creates it if it is missing, and opens the
     * index that it names.
     */
    public static OpenStoreFiles openForWriting(StoreLayout layout) throws IOException {
        return InterruptGuard.inFileThread(() -> {
            OpenStoreFiles files =
                    new OpenStoreFiles(layout, StatePage.openForWriting(layout.state()));
            files.openNamedIndex();
            return files;
        });
    }

    /**
     * Opens the index that the state page names, on this thread of files: the first lookup would
     * have to wait for one. A failure is left to that lookup.
     */
    private void openNamedIndex() {
        try {
            if (state.get(StatePage.MARK) == StatePage.MAGIC) {
                openIndex();
            }
            MappingFault.throwPending();
        } catch (IOException | InternalError e) {
            return; // InternalError: the file was truncated under the mapping
        }
    }

    public StoreLayout layout() {
        return layout;
    }

    public StatePage state() {
        return state;
    }

    public SegmentPool segments() {
        return segments;
    }

    /**
     * Returns the index that all processes use now.
     *
     * @throws IOException if the index cannot be opened
     */
    public EntryIndex index() throws IOException {
        EntryIndex current = index;
        return current != null && current.generation() == state.get(StatePage.GENERATION)
                ? current
                : openIndex();
    }

    private synchronized EntryIndex openIndex() throws IOException {
        for (int attempt = 1; ; attempt++) {
            long generation = state.get(StatePage.GENERATION);
            EntryIndex before = index;
            if (before != null && before.generation() == generation) {
                return before;
            }
            try {
                EntryIndex opened = EntryIndex.open(
                        layout.index(generation),
                        generation,
                        state.isWritable()
                                ? FileChannel.MapMode.READ_WRITE
                                : FileChannel.MapMode.READ_ONLY);
                if (opened == null) {
                    throw new NoSuchFileException(
                            layout.index(generation).toString(), null, "empty");
                }
                switchTo(opened);
                return opened;
            } catch (NoSuchFileException e) {
                if (attempt == ATTEMPTS || state.get(StatePage.GENERATION) == generation) {
                    throw e; // not replaced by a newer one in the meantime
                }
            }
        }
    }

    /** Switches to another index, and transfers the uses that are not yet written. */
    public synchronized void switchTo(EntryIndex successor) {
        EntryIndex before = index;
        if (before != null) {
            before.transferUsesTo(successor);
        }
        index = successor;
    }

    /** Discards all mappings after a file was truncated; the next lookup maps the files anew. */
    public synchronized void discardMappings() throws IOException {
        index = null;
        segments.close();
        // if it is another file now, the next change opens that
        boolean _ = state.restore(layout.state());
    }

    /** Writes the recorded last uses to the index, unless the directory is read-only. */
    public void writeUses(long nowMicros) throws IOException {
        if (state.isWritable()) {
            index().writeUses(nowMicros);
        }
    }

    /** Discards the mappings and closes the state page. */
    public void close() {
        segments.close();
        state.close();
    }
}
