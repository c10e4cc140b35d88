package dev.granary.local;

import dev.granary.cache.Catalog;
import dev.granary.cache.Damage;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.Verification;
import dev.granary.local.EntryFile.Identity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.function.Predicate;

/** Finds, reads and takes away the entries of single ids. Thread-safe. */
final class Shelf {
    private final Layout layout;
    private final Ledger ledger;
    private final TemporaryFiles temporary;
    private final Trouble trouble;

    /** The file that an id has or would get, and what is in it. */
    record Place(Path file, LoadResult found) {}

    Shelf(Layout layout, Ledger ledger, TemporaryFiles temporary, Trouble trouble) {
        this.layout = layout;
        this.ledger = ledger;
        this.temporary = temporary;
        this.trouble = trouble;
    }

    /** Reads the entry of {@code id}. Other ids with the same hash are passed over; behind the last of them the place counts as empty. */
    Place find(Id id) {
        for (int slot = 0; ; slot++) {
            Path file = layout.entry(id, slot);
            LoadResult found = read(file, id);
            if (!(found instanceof LoadResult.Damaged bad && bad.damage() == Damage.WRONG_KEY && belongs(file, id))) {
                return new Place(file, found);
            }
            if (slot == Layout.SLOTS - 1) {
                return new Place(file, LoadResult.ABSENT);
            }
        }
    }

    /** Takes a file away if the entry of {@code id} that is read from it is {@code unwanted}; never another file that took its name. */
    boolean removeIf(Path file, Id id, Predicate<LoadResult> unwanted) {
        try {
            Identity read = Identity.of(file);
            if (!unwanted.test(read(file, id))) {
                return false;
            }
            Removal removal = new Removal(file, read);
            ledger.change(removal, Step.Listener.NONE, trouble);
            return removal.done;
        } catch (NoSuchFileException e) {
            return false; // gone already
        } catch (IOException e) {
            trouble.record(Trouble.Kind.REMOVING, e);
            return false;
        }
    }

    /** Reads an entry by its name. */
    LoadResult read(Catalog.Listed listed) {
        LoadResult result = LoadResult.ABSENT;
        for (int slot = 0; slot < Layout.SLOTS && Layout.isNamespace(listed.namespace()); slot++) {
            LoadResult next = readSlot(listed, slot);
            if (next instanceof LoadResult.Hit) {
                return next;
            }
            result = slot == 0 ? next : result;
        }
        return result;
    }

    private LoadResult readSlot(Catalog.Listed listed, int slot) {
        try {
            LoadResult found = EntryFile.read(layout.entry(listed.namespace(), listed.hash(), slot),
                    bytes -> slot == 0 || bytes.byteSize() == listed.bytes()
                            ? EntryFormat.decode(bytes, Verification.CHECKSUMS)
                            : LoadResult.ABSENT);
            if (found instanceof LoadResult.Hit hit && !layout.hash(hit.entry().id()).equals(listed.hash())) {
                return new LoadResult.Damaged(Damage.WRONG_KEY, "a sound entry, but of another id");
            }
            return found;
        } catch (IOException e) {
            trouble.record(Trouble.Kind.READING, e);
            return new LoadResult.Unavailable(e.toString());
        }
    }

    private LoadResult read(Path file, Id id) {
        try {
            return EntryFile.read(file, bytes -> EntryFormat.decode(bytes, id, Verification.CHECKSUMS));
        } catch (IOException e) {
            trouble.record(Trouble.Kind.READING, e);
            return new LoadResult.Unavailable(e.toString());
        }
    }

    /** True where the entry in the file is one of another id that has this name by right. */
    private boolean belongs(Path file, Id id) {
        try {
            return EntryFile.read(file, bytes -> EntryFormat.decode(bytes, Verification.CHECKSUMS)) instanceof LoadResult.Hit other
                    && layout.hash(other.entry().id()).equals(layout.hash(id));
        } catch (IOException e) {
            trouble.record(Trouble.Kind.READING, e);
            return false;
        }
    }

    /** Moves a file out of sight, looks whether it is the one that was meant, and puts it back where it is not. */
    private final class Removal implements Ledger.Change {
        private final Path file;
        private final Identity meant;
        private boolean done;

        Removal(Path file, Identity meant) {
            this.file = file;
            this.meant = meant;
        }

        @Override
        public long make() throws IOException {
            if (!Identity.of(file).equals(meant)) {
                return 0;
            }
            Path aside = temporary.aside();
            Files.move(file, aside, StandardCopyOption.ATOMIC_MOVE);
            try {
                done = Identity.of(aside).equals(meant);
                if (!done) {
                    Files.createLink(file, aside); // a still newer one that came meanwhile stays, and this fails
                }
            } finally {
                Files.deleteIfExists(aside);
            }
            return done ? -meant.bytes() : 0;
        }
    }
}
