package dev.granary.cli.key;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.output.BoundedEntryList;
import dev.granary.cli.place.Place;

import java.io.IOException;
import java.util.Comparator;

/** Finder of the only entry of a tier whose id begins with given digits. */
public final class EntryFinder {
    private EntryFinder() {}

    /**
     * Returns the entry.
     *
     * @throws CommandFailedException if there is none, or more than one
     */
    public static EntryCatalog.Listed find(Place inventory, String prefix)
            throws IOException, CommandFailedException {
        BoundedEntryList found =
                new BoundedEntryList(Comparator.comparing(entry -> entry.hash().hex()), 1);
        inventory.list(entry -> {
            if (entry.hash().hex().startsWith(prefix)) {
                found.accept(entry);
            }
        });
        if (found.entries() == 1) {
            return found.sorted().getFirst();
        }
        throw new CommandFailedException(
                found.entries() == 0
                        ? "no entry of " + inventory.name() + " has an id that begins with "
                                + prefix
                        : found.entries() + " entries have ids that begin with " + prefix
                                + "; give more digits");
    }
}
