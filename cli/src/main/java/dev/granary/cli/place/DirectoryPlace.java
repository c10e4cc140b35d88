package dev.granary.cli.place;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.local.EntryFiles;

import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;

/** Directory of entries, in the form of a local directory, or shared by machines. */
final class DirectoryPlace extends Place {
    /** The number of entries that are read, and perhaps stored in a bucket, at once. */
    private static final int READERS = 16;

    private final EntryFiles files;

    DirectoryPlace(Path directory) {
        this(directory.toString(), EntryFiles.in(directory));
    }

    DirectoryPlace(String name, EntryFiles files) {
        super(name, files);
        this.files = files;
    }

    boolean exists() {
        return files.exists();
    }

    @Override
    public int maxSearched() {
        return 10_000;
    }

    @Override
    public void read(List<EntryCatalog.Listed> wanted, EntryCopier copier)
            throws InterruptedException {
        List<Callable<Object>> reads = wanted.stream()
                .map(listed -> Executors.callable(() -> copier.read(files, listed)))
                .toList();
        try (ExecutorService threads =
                Executors.newFixedThreadPool(READERS, DaemonThreads.named("granary-copy"))) {
            for (Future<Object> read : threads.invokeAll(reads)) {
                read.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    @Override
    boolean contains(EntryCatalog.Listed entry) {
        try (Arena memory = Arena.ofConfined()) {
            return files.read(entry, memory) instanceof LoadResult.Hit;
        }
    }

    @Override
    int writers() {
        // more threads than processors create files more slowly: 16 take twice the time of 2
        return Runtime.getRuntime().availableProcessors();
    }

    @Override
    void store(Entry entry, Consumer<StoreResult> whenDone) {
        whenDone.accept(files.store(entry));
    }
}
