package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackIndexReader;
import dev.granary.s3.pack.PackIndexReader.IndexResult;
import dev.granary.s3.pack.PackNamer;
import dev.granary.s3.pack.format.IdBloomFilter;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Change;
import dev.granary.s3.register.Head;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.register.SwapResult;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Adopter of packs that no head names, after a head or base was lost. For one thread.
 *
 * <p>A pack is copied under a name of the present generation, since a process that deletes old
 * packs may hold the former name. Entries that were left out on purpose may come back.
 */
public final class PackAdopter {
    private final ObjectStore store;
    private final TargetLayout keys;
    private final Register register;
    private final PackNamer namer;

    public PackAdopter(Register register, PackNamer namer) {
        this.store = register.store();
        this.keys = register.keys();
        this.register = register;
        this.namer = namer;
    }

    /** Adopts all sound packs that no head names; returns their number. */
    public long run() throws CompactionException {
        try {
            Register.Stored now = withoutLostBase(register.readOrReplace());
            Set<ObjectName> known = new HashSet<>();
            Set<Sha256> contents = new HashSet<>();
            for (PackInfo pack : register.packs(now.head())) {
                known.add(pack.name());
                contents.add(pack.name().hash());
            }
            now.head().retired().forEach(one -> known.add(one.name()));
            List<ObjectName> unnamed = new ArrayList<>();
            if (store.list(keys.packPrefix(), object -> keys.packName(object.key())
                            .filter(name -> !known.contains(name))
                            .ifPresent(unnamed::add))
                    instanceof ListResult.Unavailable unavailable) {
                throw new CompactionException("packs cannot be listed: " + unavailable.failure());
            }
            Set<ObjectName> adopted = new HashSet<>();
            for (ObjectName name : unnamed) {
                if (contents.add(name.hash())) {
                    adopt(name).ifPresent(adopted::add);
                }
            }
            if (!adopted.isEmpty()) {
                requireNamed(adopted);
            }
            return adopted.size();
        } catch (RegisterException e) {
            throw CompactionException.of(e);
        }
    }

    /** Reads the head back: a server may drop a write that it reports as done. */
    private void requireNamed(Set<ObjectName> adopted)
            throws CompactionException, RegisterException {
        Head head = register.readOrCreate().head();
        Set<ObjectName> missing = new HashSet<>(adopted);
        missing.removeIf(name -> head.namesOrRetires(name) || !head.admits(name));
        register.packs(head).forEach(pack -> missing.remove(pack.name()));
        if (!missing.isEmpty()) {
            throw new CompactionException("the head that was just written is not there");
        }
    }

    /** Removes a base from the head that is missing or damaged, as two reads show. */
    private Register.Stored withoutLostBase(Register.Stored now)
            throws CompactionException, RegisterException {
        Optional<ObjectName> base = now.head().base();
        for (int read = 0; read < 2; read++) { // one wrong answer must not unname all folded packs
            try {
                register.packs(now.head());
                return now;
            } catch (RegisterException e) {
                if (!e.isLoss()) {
                    throw e;
                }
            }
        }
        SwapResult swapped = register.swap(
                Optional.of(now),
                head -> head.base().equals(base)
                        ? new Change.Next(head.with(Optional.empty(), Set.of(), Set.of()))
                        : Change.NOTHING);
        return switch (swapped) {
            case SwapResult.Done done -> done.now();
            case SwapResult.GaveUp gaveUp -> throw new CompactionException(gaveUp.cause());
            case SwapResult.Failed(String cause) -> throw new CompactionException(cause);
            case SwapResult.Unknown(String cause) -> throw new CompactionException(cause);
        };
    }

    /** Returns the name under which a pack was adopted; empty if it was not. */
    private Optional<ObjectName> adopt(ObjectName name)
            throws CompactionException, RegisterException {
        GetResult read = store.get(keys.pack(name), PackInfo.MAX_BYTES);
        if (read instanceof GetResult.Unavailable unavailable) {
            throw new CompactionException(
                    "pack " + name + " cannot be read: " + unavailable.failure());
        }
        if (!(read instanceof GetResult.Found found)) {
            return Optional.empty();
        }
        byte[] body = found.bytes().toArray(ValueLayout.JAVA_BYTE);
        Optional<PackInfo> row =
                Sha256.of(body).equals(name.hash()) ? row(name, body) : Optional.empty();
        if (row.isEmpty()) {
            return Optional.empty();
        }
        Register.Stored now = register.readOrCreate();
        PackInfo copy = row.get().named(new ObjectName(now.head().generation(), name.hash()));
        Optional<StoreFailure> failure = register.writeImmutable(keys.pack(copy.name()), body);
        if (failure.isPresent()) {
            throw new CompactionException("a pack could not be written: " + failure.get());
        }
        return switch (namer.name(copy, now)) {
            case PackNamer.Named.Done _ -> Optional.of(copy.name());
            case PackNamer.Named.OutOfDate _ -> Optional.empty(); // the next run adopts it
            case PackNamer.Named.Failed(String cause) -> throw new CompactionException(cause);
        };
    }

    /** Returns the row of a pack, by its footer; empty if it is not one of this target. */
    private Optional<PackInfo> row(ObjectName name, byte[] body) {
        int entries = PackIndex.entries(body);
        int indexOffset = body.length - PackIndex.FOOTER_BYTES - entries * PackIndex.ROW_BYTES;
        try {
            PackInfo bare = new PackInfo(name, body.length, indexOffset, entries, Optional.empty());
            return PackIndexReader.decode(
                                    Arrays.copyOfRange(body, indexOffset, body.length), bare, keys)
                            instanceof IndexResult.Ok ok
                    ? Optional.of(bare.with(Optional.of(IdBloomFilter.of(ok.index()))))
                    : Optional.empty();
        } catch (IllegalArgumentException e) { // the lengths are not those of a pack
            return Optional.empty();
        }
    }
}
