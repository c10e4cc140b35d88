package dev.granary.s3.pack;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.format.EntrySignature;
import dev.granary.cache.format.EntrySigner;
import dev.granary.cache.support.Warnings;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.store.StoreFailure;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Publisher of entries of one target in packs. An entry is stored when a head names its pack: after
 * {@link #finish()}, or earlier if the pack became full or {@value #INTERVAL_MINUTES} minutes old.
 * Entries whose pack cannot be named are published unpacked. The entries of a pack that this
 * process has signed get one signature together. Thread-safe.
 *
 * <p>Memory holds one pack of at most {@value PackBuilder#FULL_BYTES} bytes and one entry. While
 * the pack is written it is held once more. Each caller in {@code add} holds its entry.
 */
public final class PackPublisher {
    /** The time after which a pack is published although it is not full. */
    private static final int INTERVAL_MINUTES = 3;

    /** The number of times that a pack is written, each time under a newer generation. */
    private static final int MAX_ATTEMPTS = 3;

    private final TargetLayout keys;
    private final Register register;
    private final PackNamer namer;
    private final Function<Entry, StoreResult> unpacked;
    private final Map<Sha256, PendingEntry> pending = new LinkedHashMap<>(); // guarded by this
    private final Map<Sha256, Sha256> signed = new LinkedHashMap<>(); // guarded by this
    private Optional<EntrySigner> signer = Optional.empty(); // guarded by this
    private PackBuilder open; // guarded by this
    private long openedAt; // guarded by this

    /** The size of an entry and the listeners for its result. */
    private record PendingEntry(long bytes, List<Consumer<StoreResult>> listeners) {
        void complete(StoreResult result) {
            listeners.forEach(listener -> listener.accept(result));
        }
    }

    /**
     * Creates a publisher.
     *
     * @param unpacked publishes one entry unpacked
     */
    public PackPublisher(
            Register register, PackNamer namer, Function<Entry, StoreResult> unpacked) {
        this.keys = register.keys();
        this.register = register;
        this.namer = namer;
        this.unpacked = unpacked;
        this.open = new PackBuilder(keys.namespace(), register.random());
    }

    /**
     * Adds an entry to the pack. An entry that is pending already is not added again; all listeners
     * get the same result.
     *
     * @param whenDone called with the result when the entry's pack is finished
     * @return false if the entry is too large for a pack and was not added
     */
    public boolean add(Entry entry, Consumer<StoreResult> whenDone) {
        byte[] encoded;
        try {
            encoded = EntryFormat.encode(entry, Compression.ZSTD);
        } catch (IllegalArgumentException e) {
            return false;
        }
        if (!PackBuilder.fits(encoded.length)) {
            return false;
        }
        synchronized (this) {
            PendingEntry before = pending.get(entry.id().hash());
            if (before != null) {
                // its pack is not written yet, so both get the same result
                before.listeners().add(whenDone);
                return true;
            }
            if (open.size() == 0) {
                openedAt = register.ticker().nanos();
            }
            open.add(entry.id().hash(), encoded, TimeUnit.NANOSECONDS.convert(entry.compileTime()));
            Optional<EntrySigner> here = EntrySigner.of(entry);
            signer = signer.or(() -> here);
            if (here.isPresent() && here.equals(signer)) {
                signed.put(entry.id().hash(), EntrySignature.leaf(entry));
            }
            pending.put(
                    entry.id().hash(),
                    new PendingEntry(encoded.length, new ArrayList<>(List.of(whenDone))));
            if (open.isFull((long) signed.size() * EntrySignature.MAX_PATH_BYTES)
                    || register.ticker().nanos() - openedAt
                            > TimeUnit.MINUTES.toNanos(INTERVAL_MINUTES)) {
                publish();
            }
            return true;
        }
    }

    /** Publishes the pack under construction, if it has any entry. */
    public synchronized void finish() {
        if (open.size() > 0) {
            publish();
        }
    }

    /** Called with the lock held: other callers of {@code add} wait, which bounds the memory. */
    private void publish() {
        signTogether();
        PackBuilder.Pack pack = open.build();
        open = new PackBuilder(keys.namespace(), register.random());
        Map<Sha256, PendingEntry> batch = new LinkedHashMap<>(pending);
        pending.clear();
        try {
            Optional<String> failure = publish(pack);
            if (failure.isEmpty()) {
                batch.values().forEach(one -> one.complete(new StoreResult.Stored(one.bytes())));
                batch.clear();
                return;
            }
            Warnings.warn(
                    "packs",
                    "A pack of " + keys.namespace() + " could not be published, so its entries are"
                            + " published unpacked: " + failure.get());
            for (PackLocation location : pack.locations()) {
                PendingEntry one = batch.remove(location.id());
                if (one != null) {
                    one.complete(publishUnpacked(pack, location));
                }
            }
        } finally { // the listeners are called even if the store breaks its contract
            batch.values()
                    .forEach(one ->
                            one.complete(new StoreResult.Failed("the pack could not be written")));
        }
    }

    /** Gives the entries that this process has signed one signature, which is checked once. */
    private void signTogether() {
        if (signed.size() > 1) {
            Iterator<EntrySignature> signatures =
                    signer.orElseThrow().sign(List.copyOf(signed.values())).iterator();
            for (Sha256 id : signed.keySet()) {
                EntrySignature signature = signatures.next();
                open.change(id, entry -> EntryFormat.withSignature(entry, signature));
            }
        }
        signed.clear();
    }

    private StoreResult publishUnpacked(PackBuilder.Pack pack, PackLocation location) {
        LoadResult decoded = EntryFormat.decode(
                MemorySegment.ofArray(pack.body()).asSlice(location.offset(), location.length()),
                VerificationLevel.CONTENT_HASH);
        return decoded instanceof LoadResult.Hit(Entry entry)
                ? unpacked.apply(entry)
                : new StoreResult.Failed("the entry cannot be read again: " + decoded);
    }

    /** Writes and names a pack; returns the reason if no head names it, as far as is known. */
    private Optional<String> publish(PackBuilder.Pack pack) {
        try {
            Register.Stored now = register.readOrCreate();
            for (int attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
                PackInfo info = pack.info(now.head().generation());
                Optional<StoreFailure> failure =
                        register.writeImmutable(keys.pack(info.name()), pack.body());
                if (failure.isPresent()) {
                    return Optional.of("the pack could not be written: " + failure.get());
                }
                switch (namer.name(info, now)) {
                    case PackNamer.Named.Done _ -> {
                        return Optional.empty();
                    }
                    case PackNamer.Named.Failed(String cause) -> {
                        return Optional.of(cause);
                    }
                    case PackNamer.Named.OutOfDate(Register.Stored newer) -> now = newer;
                }
            }
            return Optional.of("the pack was out of date each time that it was written");
        } catch (RegisterException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }
}
