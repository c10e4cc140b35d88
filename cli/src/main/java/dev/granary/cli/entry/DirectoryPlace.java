package dev.granary.cli.entry;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.local.EntryFiles;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/** Directory of entries, in the form of a local directory, or shared by machines. */
final class DirectoryPlace extends Place {
    /** The number of entries that are read, and perhaps stored in a bucket, at once. */
    private static final int READERS = 16;

    final Path directory;
    final EntryFiles files;

    DirectoryPlace(String name, Path directory, EntryFiles files) {
        super(name, files);
        this.directory = directory;
        this.files = files;
    }

    /** Creates the place of a directory that is private to this user. */
    DirectoryPlace(Path directory) {
        this(directory.toString(), directory, EntryFiles.in(directory));
    }

    @Override
    int maxSearched() {
        return 10_000;
    }

    @Override
    void read(List<Listed> wanted, EntryCopier copier) {
        try (ExecutorService threads =
                Executors.newFixedThreadPool(READERS, DaemonThreads.named("granary-copy"))) {
            CompletableFuture.allOf(wanted.stream()
                            .map(listed -> CompletableFuture.runAsync(
                                    () -> copier.read(files, listed), threads))
                            .toArray(CompletableFuture<?>[]::new))
                    .join();
        }
    }

    /** Removes an entry unless it was used or replaced since; adds the cause if it cannot. */
    boolean remove(Listed entry, List<String> failures) {
        try {
            return files.remove(entry);
        } catch (IOException e) {
            failures.add(e.toString());
            return false;
        }
    }

    static void addFailures(List<String> failures, Report report) {
        if (!failures.isEmpty()) {
            report.problem(Units.plural(failures.size(), "entry") + " cannot be removed: "
                    + failures.getFirst());
        }
    }

    @Override
    boolean contains(Listed entry) {
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
