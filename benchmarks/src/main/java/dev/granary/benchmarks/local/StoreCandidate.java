package dev.granary.benchmarks.local;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;

/** Candidate: a store and a way of reading it. */
enum StoreCandidate {
    /** Plain files, read into a reused buffer without verification: the reference of the others. */
    RAW,
    /** The same files, verified. */
    RAW_VERIFIED,
    /** The local tier, with the call that lookups make. */
    TIER;

    /** Returns the name on the command line and in the output. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Returns the candidate whose files this one reads. */
    StoreCandidate owner() {
        return this == RAW_VERIFIED ? RAW : this;
    }

    /** Opens the store in its own directory under {@code parent}. */
    CandidateStore open(Path parent, long capacity) throws IOException {
        Path directory = parent.resolve(owner().toString());
        return this == TIER
                ? new LocalTierStore(directory, capacity)
                : new RawFiles(directory, capacity);
    }
}
