package dev.granary.local.file;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import org.jspecify.annotations.Nullable;

/** The files of one directory as this process has them open: the state, the index of its generation, the segments. Thread-safe. */
public final class OpenStoreFiles {
    private static final int ATTEMPTS = 10;

    private final StoreLayout layout;
    private final StatePage state;
    private final SegmentPool segments;
    private volatile @Nullable EntryIndex index;

    public OpenStoreFiles(StoreLayout layout, StatePage state) {
        this.layout = layout;
        this.state = state;
        this.segments = new SegmentPool(layout);
    }

    /** Opens the state for reading and writing, creates it where it is missing, and opens the index that it names. */
    public static OpenStoreFiles openForWriting(StoreLayout layout) throws IOException {
        return InterruptGuard.apart(() -> {
            OpenStoreFiles files = new OpenStoreFiles(layout, StatePage.openForWriting(layout.state()));
            files.openNamedIndex();
            return files;
        });
    }

    /** Saves the first look-up a thread of its own for the index; one that does not open is that look-up's to meet. */
    private void openNamedIndex() {
        try {
            if (state.get(StatePage.MARK) == StatePage.MAGIC) {
                open();
            }
        } catch (IOException | InternalError e) {
            return; // InternalError: the file was cut under the mapping
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
     * The index that all processes use now.
     *
     * @throws IOException if it cannot be opened
     */
    public EntryIndex index() throws IOException {
        EntryIndex known = index;
        return known != null && known.generation() == state.get(StatePage.GENERATION) ? known : open();
    }

    private synchronized EntryIndex open() throws IOException {
        for (int attempt = 1; ; attempt++) {
            long generation = state.get(StatePage.GENERATION);
            EntryIndex before = index;
            if (before != null && before.generation() == generation) {
                return before;
            }
            try {
                EntryIndex opened = EntryIndex.open(layout.index(generation), generation,
                        state.isWritable() ? FileChannel.MapMode.READ_WRITE : FileChannel.MapMode.READ_ONLY);
                if (opened == null) {
                    throw new NoSuchFileException(layout.index(generation).toString(), null, "empty");
                }
                use(opened);
                return opened;
            } catch (NoSuchFileException e) {
                if (attempt == ATTEMPTS || state.get(StatePage.GENERATION) == generation) {
                    throw e; // not just replaced by a still newer one
                }
            }
        }
    }

    /** Goes over to another index, and takes along the uses that were not yet written. */
    public synchronized void use(EntryIndex successor) {
        EntryIndex before = index;
        if (before != null) {
            before.handUsesTo(successor);
        }
        index = successor;
    }

    /** Forgets what is mapped, since a file was cut under it; the next look-up maps anew. */
    public synchronized void forget() throws IOException {
        index = null;
        segments.close();
        boolean _ = state.restore(layout.state()); // where it is another file now, the next change opens that
    }

    public void writeUses(long nowMicros) throws IOException {
        if (state.isWritable()) {
            index().writeUses(nowMicros);
        }
    }

    public void close() {
        segments.close();
        state.close();
    }
}
