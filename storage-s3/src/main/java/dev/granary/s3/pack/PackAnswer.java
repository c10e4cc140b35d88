package dev.granary.s3.pack;

import dev.granary.cache.LoadResult;

import java.util.function.Supplier;

/** The result of a lookup in a target's packs, and whether an unpacked entry can change it. */
public sealed interface PackAnswer {
    /** No pack has the entry, and no unpacked entry exists. */
    PackAnswer ABSENT = new Final(LoadResult.ABSENT);

    /** No pack has the entry; an unpacked entry may exist. */
    PackAnswer NOT_PACKED = new Open(LoadResult.ABSENT);

    /** Returns the result by packs alone. */
    LoadResult packed();

    /**
     * Returns the result of the lookup.
     *
     * @param unpacked reads the unpacked entry; called only if it can change the result
     */
    LoadResult orUnpacked(Supplier<LoadResult> unpacked);

    /**
     * The packs decide: one has the entry, the lookup failed, or no entry exists.
     *
     * @param packed the result
     */
    record Final(LoadResult packed) implements PackAnswer {
        @Override
        public LoadResult orUnpacked(Supplier<LoadResult> unpacked) {
            return packed;
        }
    }

    /**
     * An unpacked entry may exist. No pack has the entry, it is damaged in its pack, or the
     * manifest is not known or too old: without an unpacked entry, the id is then not known to be
     * absent.
     *
     * @param packed absent, damaged, or unavailable
     */
    record Open(LoadResult packed) implements PackAnswer {
        @Override
        public LoadResult orUnpacked(Supplier<LoadResult> unpacked) {
            LoadResult other = unpacked.get();
            // while the packs are unknown, one of them may hold an entry that is absent here
            boolean isPackedKept = packed instanceof LoadResult.Damaged
                    ? !(other instanceof LoadResult.Hit)
                    : other instanceof LoadResult.Absent;
            return isPackedKept ? packed : other;
        }
    }
}
