package dev.granary.wrap;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import dev.granary.wrap.CacheDirectory.Stamp;

import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The files of one tool during one run of the program: what was there, what was fetched, and what
 * the program has added. Thread-safe.
 */
final class ToolRun {
    private final Scope scope;
    private final Target target;
    private final CacheDirectory directory;
    private final long maxBytes;

    // Guarded by this, as all that follows.
    private SortedMap<String, SortedMap<String, Stamp>> before = new TreeMap<>();
    private SortedMap<String, SortedMap<String, Stamp>> lastClosed = new TreeMap<>();
    private final Set<Sha256> known = new HashSet<>(); // ids that need not be fetched
    private final Map<String, Installed> installed = new TreeMap<>();
    private final Set<String> paths = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
    private final Map<Id, Integer> written = new HashMap<>(); // numbers of files
    private final SortedMap<String, Integer> skipped = new TreeMap<>();
    private long fetchedBytes;
    private boolean isStarted; // the program: nothing is installed any more
    private boolean isRecordingReads;

    /** A group of files that was fetched. */
    private record Installed(Id id, Set<String> names, Instant created, long bytes) {}

    /**
     * Creates the state.
     *
     * @param maxBytes the largest length of all files that are fetched
     */
    ToolRun(Scope scope, CacheDirectory directory, long maxBytes) {
        this.scope = scope;
        this.target = scope.target();
        this.directory = directory;
        this.maxBytes = maxBytes;
    }

    Scope scope() {
        return scope;
    }

    Target target() {
        return target;
    }

    /** Records what is there before anything is fetched. */
    synchronized void begin() throws IOException {
        before = directory.scan();
        for (Map.Entry<String, SortedMap<String, Stamp>> group : before.entrySet()) {
            paths.add(group.getKey());
            if (!scope.tool().isRewritten()) {
                known.add(FileGroup.id(target, group.getKey(), Optional.empty()).hash());
            }
        }
    }

    /** Returns whether the entry with this hash would add something. */
    synchronized boolean isWanted(Sha256 hash) {
        return !known.contains(hash);
    }

    /** Installs the files of an entry that was fetched; if they must not be, counts the cause. */
    synchronized void install(Entry entry) {
        Optional<FileGroup> content = FileGroup.of(entry, target);
        if (isStarted || !known.add(entry.id().hash())) {
            return;
        }
        if (content.isEmpty()) {
            skip("no files of this scope, or unsafe names", 1);
            return;
        }
        FileGroup group = content.get();
        Installed earlier = installed.get(group.path());
        Instant created = entry.metadata().map(EntryMetadata::createdAt).orElse(Instant.MIN);
        if (earlier != null && !created.isAfter(earlier.created)) {
            return; // an older content of files that the tool rewrites
        }
        if (earlier == null && paths.contains(group.path())) {
            return; // there already, or in another case
        }
        if (fetchedBytes + group.bytes() > maxBytes) {
            skip(beyondCapacity(), group.files().size());
            return;
        }
        try {
            if (earlier != null) {
                directory.remove(group.path());
                installed.remove(group.path());
                fetchedBytes -= earlier.bytes;
            }
            if (directory.install(group)) {
                paths.add(group.path());
                installed.put(
                        group.path(),
                        new Installed(
                                entry.id(),
                                Set.copyOf(group.files().keySet()),
                                created,
                                group.bytes()));
                fetchedBytes += group.bytes();
            }
        } catch (InvalidPathException e) {
            skip(
                    "the locale has no such names; set LC_ALL=C.UTF-8",
                    group.files().size());
        } catch (IOException e) {
            skip(cause(e), group.files().size());
        }
    }

    private static String cause(IOException failure) {
        return failure.getClass() == IOException.class
                ? String.valueOf(failure.getMessage())
                : failure.toString();
    }

    /** Returns the largest length of all files that are fetched. */
    long maxBytes() {
        return maxBytes;
    }

    /** Returns the cause for which files are left out that exceed {@link #maxBytes}. */
    String beyondCapacity() {
        return "beyond the capacity of " + (maxBytes >> 20) + " MiB";
    }

    /** Counts files that are left out; none is no cause to be named. */
    synchronized void skip(String cause, int files) {
        if (files > 0) {
            skipped.merge(cause, files, Integer::sum);
        }
    }

    /** Ends the fetching: the program starts. */
    synchronized void start() throws IOException {
        isStarted = true;
        if (!installed.isEmpty()) {
            isRecordingReads = directory.recordsReads();
            before = directory.scan();
        }
        lastClosed = before;
    }

    /**
     * Returns what the program has added, and will not change any more: while it runs, what has not
     * changed since the last call, and no process has open for writing.
     *
     * @param isEnded whether the program has ended by itself, so that its files are whole
     */
    synchronized List<FileEngine.Source> additions(boolean isEnded) throws IOException {
        SortedMap<String, SortedMap<String, Stamp>> now = directory.scan();
        Set<Path> open = directory.openForWriting();
        SortedMap<String, SortedMap<String, Stamp>> closed = new TreeMap<>();
        List<FileEngine.Source> additions = new ArrayList<>();
        for (Map.Entry<String, SortedMap<String, Stamp>> group : now.entrySet()) {
            String path = group.getKey();
            SortedMap<String, Stamp> stamps = group.getValue();
            SortedMap<String, Stamp> earlier = before.get(path);
            boolean isNew = scope.tool().isRewritten() ? !stamps.equals(earlier) : earlier == null;
            boolean isOpen = open.stream().anyMatch(file -> directory.has(path, file));
            if (!isOpen) { // one that is open may be half of a file when the program is killed
                closed.put(path, stamps);
            }
            boolean isWhole = !isOpen && (isEnded || stamps.equals(lastClosed.get(path)));
            if (isNew && isWhole) {
                try {
                    additions.add(addition(path, stamps));
                } catch (IOException e) {
                    skip(cause(e), stamps.size());
                }
                before.put(path, stamps); // once
            }
        }
        lastClosed = closed;
        return additions;
    }

    private FileEngine.Source addition(String path, SortedMap<String, Stamp> stamps)
            throws IOException {
        directory.requireNoDatabase(path, stamps);
        Optional<Sha256> content = scope.tool().isRewritten()
                ? Optional.of(directory.read(path, stamps).hash())
                : Optional.empty();
        Id id = FileGroup.id(target, path, content);
        written.put(id, stamps.size());
        long bytes = stamps.values().stream().mapToLong(Stamp::bytes).sum();
        return new FileEngine.Source(id, path, bytes, () -> directory.read(path, stamps));
    }

    /** Returns the ids of fetched files that the program has read. */
    synchronized List<Id> used() {
        List<Id> used = new ArrayList<>();
        installed.forEach((path, group) -> {
            if (!isRecordingReads || directory.opened(path, group.names) > 0) {
                used.add(group.id);
            }
        });
        return used;
    }

    /**
     * Returns the result.
     *
     * @param published the number of groups that a layer has, of those that were added
     */
    synchronized WrapResult.ToolResult result(Set<Id> published) {
        int opened = 0;
        int fetched = 0;
        for (Map.Entry<String, Installed> group : installed.entrySet()) {
            fetched += group.getValue().names.size();
            opened += directory.opened(group.getKey(), group.getValue().names);
        }
        int added = 0;
        int shared = 0;
        for (Map.Entry<Id, Integer> each : written.entrySet()) {
            added += each.getValue();
            shared += published.contains(each.getKey()) ? each.getValue() : 0;
        }
        return new WrapResult.ToolResult(
                scope.tool().name(),
                directory.root(),
                target.path(),
                fetched,
                fetchedBytes,
                isRecordingReads ? Optional.of(opened) : Optional.empty(),
                added,
                shared,
                new TreeMap<>(skipped));
    }
}
