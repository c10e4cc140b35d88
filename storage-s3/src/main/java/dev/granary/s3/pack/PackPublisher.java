package dev.granary.s3.pack;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.PutId;
import dev.granary.s3.store.ObjectStore;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * Publishes entries of one target in packs. An entry is stored when the manifest names its pack, which is after {@link #finish()}, or
 * when a pack has become full before. Thread-safe.
 *
 * <p>In memory is one pack, at most {@value #FULL_BYTES} bytes, an entry and an index long, in a buffer of at most twice that, and once more while it is
 * written; and the entry that each caller is adding.
 */
public final class PackPublisher {
    /** From this length on a pack is full. */
    static final int FULL_BYTES = 32 << 20;

    private final ObjectStore store;
    private final PackKeys keys;
    private final IndexShelf shelf;
    private final ManifestLog log;
    private final PackWriter writer;
    private final RandomGenerator random;
    private final Map<Sha256, Waiting> waiting = new LinkedHashMap<>(); // guarded by this
    private PackBuilder open; // guarded by this

    /** Who waits to hear of an entry, and how many bytes it has. */
    private record Waiting(long bytes, Consumer<StoreResult> whenDone) {
        void hear(StoreResult result) {
            whenDone.accept(result instanceof StoreResult.Stored ? new StoreResult.Stored(bytes) : result);
        }
    }

    PackPublisher(ObjectStore store, PackKeys keys, IndexShelf shelf, RandomGenerator random, Consumer<Duration> pause) {
        this.store = store;
        this.keys = keys;
        this.shelf = shelf;
        this.log = new ManifestLog(store, keys, random, pause);
        this.writer = new PackWriter(store, random, pause);
        this.random = random;
        this.open = new PackBuilder(keys.namespace(), random);
    }

    /**
     * Adds an entry to the pack.
     *
     * @param whenDone told what became of it; called when its pack is finished
     * @return false where it is too large for a pack; nothing was added then
     */
    public boolean add(Entry entry, Consumer<StoreResult> whenDone) {
        byte[] encoded;
        try {
            encoded = EntryFormat.encode(entry, Compression.ZSTD, PutId.NONE);
        } catch (IllegalArgumentException e) {
            return false;
        }
        if (!PackBuilder.fits(encoded.length)) {
            return false;
        }
        synchronized (this) {
            if (waiting.containsKey(entry.id().hash())) {
                whenDone.accept(StoreResult.DUPLICATE);
                return true;
            }
            open.add(entry.id().hash(), encoded, TimeUnit.NANOSECONDS.convert(entry.compileTime()));
            waiting.put(entry.id().hash(), new Waiting(encoded.length, whenDone));
            if (open.isFull()) {
                publish();
            }
            return true;
        }
    }

    /** Writes the pack under construction, if it has any entry, and commits it; tells every entry what became of it. */
    public synchronized void finish() {
        if (open.size() > 0) {
            publish();
        }
    }

    /** Called with the lock held: who adds meanwhile waits, which bounds the memory. */
    private void publish() {
        Pack pack = open.build();
        open = new PackBuilder(keys.namespace(), random);
        Map<Sha256, Waiting> told = new LinkedHashMap<>(waiting);
        waiting.clear();
        StoreResult result = write(pack, told.keySet());
        told.values().forEach(one -> one.hear(result));
    }

    private StoreResult write(Pack pack, Set<Sha256> ids) {
        if (writer.write(pack, keys) instanceof PackWriter.Written.Failed lost) {
            return new StoreResult.Failed("the pack could not be written: " + lost.failure());
        }
        return switch (log.commit(base -> hasAll(base, ids) ? Optional.empty() : Optional.of(base.plus(pack.info())))) {
            case ManifestLog.Committed.Done _ -> new StoreResult.Stored(pack.info().bytes());
            case ManifestLog.Committed.Overtaken _ -> {
                store.delete(keys.pack(pack.info().name())); // no manifest names it, and nobody knows its name
                yield StoreResult.DUPLICATE;
            }
            case ManifestLog.Committed.Unknown unknown ->
                new StoreResult.Unknown("whether the manifest is committed nobody can say: " + unknown.cause());
            case ManifestLog.Committed.Failed failed -> new StoreResult.Failed("the manifest could not be committed: " + failed.cause());
        };
    }

    /** True where the packs of a manifest have every one of these ids: another writer published the same. */
    private boolean hasAll(Manifest manifest, Set<Sha256> ids) {
        Set<Sha256> missing = new HashSet<>(ids);
        for (PackInfo pack : manifest.packs()) {
            if (missing.stream().noneMatch(pack.filter()::mayContain)) {
                continue;
            }
            if (TargetPacks.fetchIndex(pack, keys, shelf, store) instanceof TargetPacks.Indexed.Ok ok) {
                missing.removeIf(id -> ok.index().find(id).isPresent());
            }
        }
        return missing.isEmpty();
    }
}
