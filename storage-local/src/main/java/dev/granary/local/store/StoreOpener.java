package dev.granary.local.store;

import dev.granary.local.directory.DirectoryValidator;
import dev.granary.local.file.MappingFault;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreLayout;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Opener of the files of one store: on demand, and again after they were removed. Thread-safe. */
final class StoreOpener {
    private final Path directory;
    private final StoreLayout layout;
    private volatile @Nullable OpenStoreFiles files;
    private volatile boolean closed;

    StoreOpener(Path directory, StoreLayout layout) {
        this.directory = directory;
        this.layout = layout;
    }

    /** Returns the files that are open; null if none are. */
    @Nullable
    OpenStoreFiles current() {
        return files;
    }

    /**
     * Returns the files for reading if they are open, complete and not lost; null if they must be
     * opened.
     */
    @Nullable
    OpenStoreFiles currentForReading() {
        OpenStoreFiles open = files;
        return open != null && !open.state().isLost() && isInitialised(open) ? open : null;
    }

    /**
     * Returns the files for writing, and creates them. They may have been removed from the
     * directory since.
     */
    OpenStoreFiles forWriting() throws IOException {
        OpenStoreFiles open = files;
        return open != null && open.state().isWritable() && !open.state().isLost()
                ? open
                : forChange();
    }

    /** Returns the files for a change: writable, and still those in the directory. */
    OpenStoreFiles forChange() throws IOException {
        if (closed) {
            throw new IOException("the local store on " + directory + " is closed");
        }
        OpenStoreFiles current = files;
        if (current != null && canChange(current)) {
            return current;
        }
        synchronized (this) {
            current = files;
            if (current != null && canChange(current)) {
                return current;
            }
            Files.createDirectories(
                    layout.segments(), DirectoryValidator.privateDirectory(directory));
            OpenStoreFiles open = OpenStoreFiles.openForWriting(layout);
            files = open;
            if (current != null) {
                current.close();
            }
            return open;
        }
    }

    private boolean canChange(OpenStoreFiles open) throws IOException {
        return open.state().isWritable()
                && !open.state().isLost()
                && open.state().restore(layout.state());
    }

    /** Returns the files of a directory that cannot be written; null if nothing was stored yet. */
    synchronized @Nullable OpenStoreFiles readOnly() throws IOException {
        StatePage state = files == null ? StatePage.openForReading(layout.state()) : null;
        if (state != null && state.get(StatePage.MARK) == StatePage.MAGIC) {
            files = new OpenStoreFiles(layout, state);
        }
        return files;
    }

    /**
     * Returns whether the state page is initialised; one that is being initialised, is damaged or
     * truncated counts as not.
     */
    static boolean isInitialised(OpenStoreFiles open) {
        try {
            boolean isInitialised = open.state().get(StatePage.MARK) == StatePage.MAGIC;
            MappingFault.throwPending();
            return isInitialised;
        } catch (InternalError e) {
            return false; // truncated under the mapping
        }
    }

    /**
     * Returns whether an exception means that this directory is read-only, as opposed to a disk
     * that is full or fails.
     */
    boolean isReadOnly(IOException cause) {
        try {
            return cause instanceof AccessDeniedException
                    || Files.getFileStore(directory).isReadOnly();
        } catch (IOException e) {
            return false;
        }
    }

    boolean isClosed() {
        return closed;
    }

    /** Closes the files, and opens none any more: tasks left in an executor find nothing to do. */
    void close() {
        closed = true;
        OpenStoreFiles open = files;
        files = null;
        if (open != null) {
            open.close();
        }
    }
}
