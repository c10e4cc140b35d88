package dev.granary.s3.pack;

import dev.granary.cache.support.Warnings;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.PackIndexReader.IndexResult;
import dev.granary.s3.pack.format.IdBloomFilter;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Change;
import dev.granary.s3.register.Head;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.register.SwapResult;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Adds written packs to the head of their target, and folds recent packs into its base. For one
 * thread.
 */
public final class PackNamer {
    private final Register register;
    private final Consumer<String> disproved;
    private boolean isVerified;

    /**
     * Creates a namer.
     *
     * @param disproved called if the server lost the first swap: its conditional writes are not
     *     exact
     */
    public PackNamer(Register register, Consumer<String> disproved) {
        this.register = register;
        this.disproved = disproved;
    }

    /** The outcome of naming a pack. */
    public sealed interface Named {
        /** A head names the pack, or its entries moved on. */
        record Done() implements Named {}

        /** The pack must be written again, under the generation of that head. */
        record OutOfDate(Register.Stored now) implements Named {}

        /** No head names the pack, as far as is known. */
        record Failed(String cause) implements Named {}
    }

    /**
     * Adds a pack, whose PUT was answered, to the head. Each {@value Head#FOLDED}th recent pack
     * folds them all, so that one of many writers at once does so.
     *
     * @param known a head read before
     */
    public Named name(PackInfo pack, Register.Stored known) {
        SwapResult result = register.swap(Optional.of(known), head -> change(head, pack));
        return switch (result) {
            case SwapResult.Done done -> {
                Named named = verified(pack.name(), done);
                int recent = done.now().head().recent().size();
                if (named instanceof Named.Done && done.isOwn() && recent % Head.FOLDED == 0) {
                    fold(done.now());
                }
                yield named;
            }
            case SwapResult.GaveUp gaveUp -> new Named.OutOfDate(gaveUp.seen());
            case SwapResult.Failed(String cause) -> new Named.Failed(cause);
            case SwapResult.Unknown(String cause) ->
                new Named.Failed("the outcome is unknown: " + cause);
        };
    }

    private static Change change(Head head, PackInfo pack) {
        if (head.namesOrRetires(pack.name())) {
            return Change.NOTHING;
        }
        return head.admits(pack.name())
                ? new Change.Next(head.with(pack))
                : new Change.GiveUp("the pack is of another generation");
    }

    /** Moves all recent packs into a new base; without success a later pack folds them. */
    private void fold(Register.Stored seen) {
        Head from = seen.head();
        try {
            List<PackInfo> rows = new ArrayList<>();
            Set<ObjectName> folded = new HashSet<>();
            int read = 0;
            for (PackInfo row : register.packs(from)) {
                if (folded.add(row.name())) {
                    // bounded: a hostile base may have 100,000 rows; later folds read the others
                    boolean isToRead = row.filter().isEmpty() && read++ < Head.FOLDED;
                    rows.add(isToRead ? filtered(row) : row);
                }
            }
            ObjectName base = register.writeBase(from.generation(), rows);
            SwapResult ignored =
                    register.swap(Optional.of(seen), head -> foldChange(head, from, base, folded));
        } catch (RegisterException e) {
            Warnings.warn(
                    "folds",
                    "The recent packs of " + register.keys().namespace() + " cannot be folded: "
                            + e.getMessage());
        }
    }

    private static Change foldChange(
            Head head, Head from, ObjectName base, Set<ObjectName> folded) {
        Set<ObjectName> recent = new HashSet<>();
        head.recent().forEach(row -> recent.add(row.name()));
        boolean isSame = head.base().equals(from.base())
                && from.recent().stream().allMatch(row -> recent.contains(row.name()))
                && head.admits(base);
        return isSame
                ? new Change.Next(head.with(Optional.of(base), folded, Set.of()))
                : new Change.GiveUp("another writer changed the packs to be folded");
    }

    /** Returns a row with its filter, from the index of the pack if the head had no room. */
    private PackInfo filtered(PackInfo row) {
        return PackIndexReader.read(row, register.keys(), PackIndexCache.NONE, register.store())
                        instanceof IndexResult.Ok ok
                ? row.with(Optional.of(IdBloomFilter.of(ok.index())))
                : row;
    }

    /**
     * Reads the head after the first swap: a server that ignores conditions loses the changes of
     * one of two writers.
     */
    private Named verified(ObjectName pack, SwapResult.Done done) {
        if (isVerified || !done.isOwn()) {
            return new Named.Done();
        }
        try {
            Optional<Register.Stored> now = register.read();
            // an older head is a late answer or was put back, which proves nothing
            isVerified = now.isPresent()
                    && now.get().head().generation() >= done.now().head().generation();
            if (isVerified && !isThere(pack, now.get().head())) {
                String evidence = "a head lost a pack that had just been added";
                disproved.accept(evidence);
                return new Named.Failed(evidence + ": conditional writes are not exact");
            }
        } catch (RegisterException e) {
            isVerified = false; // it proves nothing; the next swap is verified
        }
        return new Named.Done();
    }

    private boolean isThere(ObjectName pack, Head head) throws RegisterException {
        return head.namesOrRetires(pack)
                || !head.admits(pack)
                || register.packs(head).stream().anyMatch(row -> row.name().equals(pack));
    }
}
