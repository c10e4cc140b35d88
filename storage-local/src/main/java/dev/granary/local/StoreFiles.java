package dev.granary.local;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import org.jspecify.annotations.Nullable;

/** The files of one directory as this process has them open: the state, the index of its generation, the segments. Thread-safe. */
final class StoreFiles {
    private static final int ATTEMPTS = 10;

    private final Layout layout;
    private final State state;
    private final Segments segments;
    private volatile @Nullable Index index;

    StoreFiles(Layout layout, State state) {
        this.layout = layout;
        this.state = state;
        this.segments = new Segments(layout);
    }

    /** Opens the state for reading and writing, creates it where it is missing, and opens the index that it names. */
    static StoreFiles openForWriting(Layout layout) throws IOException {
        return InterruptShield.apart(() -> {
            StoreFiles files = new StoreFiles(layout, State.openForWriting(layout.state()));
            files.openNamedIndex();
            return files;
        });
    }

    /** Saves the first look-up a thread of its own for the index; one that does not open is that look-up's to meet. */
    private void openNamedIndex() {
        try {
            if (state.get(State.MARK) == State.MAGIC) {
                open();
            }
        } catch (IOException | InternalError e) {
            return; // InternalError: the file was cut under the mapping
        }
    }

    Layout layout() {
        return layout;
    }

    State state() {
        return state;
    }

    Segments segments() {
        return segments;
    }

    /**
     * The index that all processes use now.
     *
     * @throws IOException if it cannot be opened
     */
    Index index() throws IOException {
        Index known = index;
        return known != null && known.generation() == state.get(State.GENERATION) ? known : open();
    }

    private synchronized Index open() throws IOException {
        for (int attempt = 1; ; attempt++) {
            long generation = state.get(State.GENERATION);
            Index before = index;
            if (before != null && before.generation() == generation) {
                return before;
            }
            try {
                Index opened = Index.open(layout.index(generation), generation,
                        state.isWritable() ? FileChannel.MapMode.READ_WRITE : FileChannel.MapMode.READ_ONLY);
                if (opened == null) {
                    throw new NoSuchFileException(layout.index(generation).toString(), null, "empty");
                }
                use(opened);
                return opened;
            } catch (NoSuchFileException e) {
                if (attempt == ATTEMPTS || state.get(State.GENERATION) == generation) {
                    throw e; // not just replaced by a still newer one
                }
            }
        }
    }

    /** Goes over to another index, and takes along the uses that were not yet written. */
    synchronized void use(Index successor) {
        Index before = index;
        if (before != null) {
            before.handUsesTo(successor);
        }
        index = successor;
    }

    /** Forgets what is mapped, since a file was cut under it; the next look-up maps anew. */
    synchronized void forget() throws IOException {
        index = null;
        segments.close();
        boolean _ = state.restore(layout.state()); // where it is another file now, the next change opens that
    }

    void writeUses(long nowMicros) throws IOException {
        if (state.isWritable()) {
            index().writeUses(nowMicros);
        }
    }

    void close() {
        segments.close();
        state.close();
    }
}
