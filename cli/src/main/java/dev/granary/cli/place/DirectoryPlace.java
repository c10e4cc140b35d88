package dev.granary.cli.place;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cli.output.SilenceMonitor;
import dev.granary.local.EntryFiles;

import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Directory of entries, in the form of a local directory, or shared by machines. */
final class DirectoryPlace implements Place {
    /** The number of entries that are read, and perhaps stored in a bucket, at once. */
    private static final int READERS = 16;

    private final String name;
    private final EntryFiles files;
    private final SilenceMonitor waits = new SilenceMonitor();

    DirectoryPlace(Path directory) {
        this(directory.toString(), EntryFiles.in(directory));
    }

    DirectoryPlace(String name, EntryFiles files) {
        this.name = name;
        this.files = files;
    }

    @Override
    public String name() {
        return name;
    }

    boolean exists() {
        return files.exists();
    }

    @Override
    public EntryCatalog catalog() {
        return files;
    }

    @Override
    public SilenceMonitor waits() {
        return waits;
    }

    @Override
    public void read(List<EntryCatalog.Listed> wanted, EntryCopier copier)
            throws InterruptedException {
        AtomicInteger next = new AtomicInteger();
        ExecutorService threads =
                Executors.newFixedThreadPool(READERS, DaemonThreads.named("granary-copy"));
        try {
            List<Future<?>> readers = new ArrayList<>();
            for (int i = 0; i < READERS; i++) {
                readers.add(threads.submit(() -> {
                    for (int at = next.getAndIncrement();
                            at < wanted.size() && !Thread.currentThread().isInterrupted();
                            at = next.getAndIncrement()) {
                        copier.read(files, wanted.get(at));
                    }
                }));
            }
            for (Future<?> reader : readers) {
                reader.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } finally {
            threads.shutdownNow();
        }
    }

    @Override
    public void prepare() {}

    @Override
    public boolean contains(EntryCatalog.Listed entry) {
        try (Arena memory = Arena.ofConfined()) {
            return files.read(entry, memory) instanceof LoadResult.Hit;
        }
    }

    @Override
    public int writers() {
        // more threads than processors create files more slowly: 16 take twice the time of 2
        return Runtime.getRuntime().availableProcessors();
    }

    @Override
    public void store(Entry entry, Consumer<StoreResult> whenDone) {
        whenDone.accept(files.store(entry));
    }

    @Override
    public void finish() {}

    @Override
    public void close() {}
}
