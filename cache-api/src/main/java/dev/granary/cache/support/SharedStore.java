package dev.granary.cache.support;

import dev.granary.cache.Backend;

import java.util.SortedSet;

/** A store of entries that machines share: their claims there, and the targets that it has. */
public interface SharedStore {
    /** The most objects or files of which the targets are collected. */
    int MAX_LISTED = 1000;

    /** Returns the claims of machines on absent entries. Reads and writes nothing yet. */
    ClaimStore claims();

    /**
     * Returns names of targets for which the store has something; those of the first
     * {@value #MAX_LISTED} objects or files only. Empty if the store cannot be listed.
     *
     * @param start the beginning of the names
     */
    SortedSet<String> targets(Backend backend, String start);
}
