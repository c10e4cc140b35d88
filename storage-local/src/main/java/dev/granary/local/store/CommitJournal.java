package dev.granary.local.store;

import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.StatePage;

import java.io.IOException;
import java.util.List;

/**
 * The recovery journal of a commit, in the state page. A commit enters the new entry before it
 * removes those that it replaces, so for a moment the index has both. The journal names them, for a
 * recovery after the process died. All under the commit lock.
 */
final class CommitJournal {
    private CommitJournal() {}

    /** Begins the commit of an entry; {@code replaced} are the slots that it replaces. */
    static void begin(
            StatePage state, EntryIndex index, long location, long tag, List<Integer> replaced) {
        for (int i = 0; i < StatePage.MAX_REPLACED; i++) {
            state.set(
                    StatePage.COMMIT_REPLACES + i * Long.BYTES,
                    i < replaced.size() ? index.location(replaced.get(i)) : 0);
        }
        state.set(StatePage.COMMIT_TAG, tag);
        state.set(StatePage.COMMIT_LOCATION, location);
    }

    /** Ends a commit that is complete. */
    static void end(StatePage state) {
        state.set(StatePage.COMMIT_LOCATION, 0);
    }

    /**
     * Removes the replaced entries of a process that died before it removed them. The counts must
     * be recounted afterwards.
     */
    static void recover(OpenStoreFiles files) throws IOException {
        StatePage state = files.state();
        long tag = state.get(StatePage.COMMIT_TAG);
        if (state.get(StatePage.COMMIT_LOCATION) != 0
                && files.index().find(tag, state.get(StatePage.COMMIT_LOCATION)) >= 0) {
            state.add(StatePage.REPLACEMENTS, 1);
            for (int i = 0; i < StatePage.MAX_REPLACED; i++) {
                EntryRemover.removeAt(
                        files, tag, state.get(StatePage.COMMIT_REPLACES + i * Long.BYTES));
            }
        }
        end(state);
    }
}
