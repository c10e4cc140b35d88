package dev.granary.s3.pack.compact;

import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Change;
import dev.granary.s3.register.Head;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.register.SwapResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Remover of packs and bases that no head names. For one thread.
 *
 * <p>It takes two runs, some grace apart. The first notes the generation of the head as the next
 * boundary. The second makes it the boundary, and then deletes what is below and not named. No head
 * ever names an object below its boundary, so a deletion is right after any suspension of this
 * process and with any clock.
 */
public final class PackRemover {
    private final ObjectStore store;
    private final TargetLayout keys;
    private final Register register;

    public PackRemover(Register register) {
        this.store = register.store();
        this.keys = register.keys();
        this.register = register;
    }

    /**
     * The outcome of a run, in numbers of objects.
     *
     * @param removed those that were, or would be, removed
     * @param unremoved those whose removal the server refused
     * @param waiting those that a later run removes
     */
    public record Removal(long removed, long unremoved, long waiting) {}

    /** Returns what {@link #run} would do. */
    public Removal plan(Duration grace) throws CompactionException {
        try {
            Optional<Register.Stored> stored = register.read();
            if (stored.isEmpty()) {
                return new Removal(0, 0, 0);
            }
            Head head = stored.get().head();
            boolean isDue = isDue(head, stored.get().serverMillis(), grace);
            List<String> removable = new ArrayList<>();
            long waiting = isDue
                    ? list(head.advanced(), head.advanced().boundary(), removable)
                    : list(head, 0, removable);
            return new Removal(removable.size(), 0, waiting);
        } catch (RegisterException e) {
            throw CompactionException.of(e);
        }
    }

    /** Notes or advances the boundary; if it advances, removes what is below and not named. */
    public Removal run(Duration grace) throws CompactionException {
        try {
            Optional<Register.Stored> stored = register.read();
            if (stored.isEmpty()) {
                return new Removal(0, 0, 0);
            }
            register.packs(
                    stored.get().head()); // a base that is lost hides packs: nothing is deleted
            long now = stored.get().serverMillis();
            long due = isDue(stored.get().head(), now, grace)
                    ? stored.get().head().advanced().boundary()
                    : 0;
            SwapResult swapped = register.swap(stored, head -> change(head, now, grace));
            return switch (swapped) {
                case SwapResult.Done _ -> {
                    // from the bucket: a server may drop a write that it reports as done
                    Head head = register.readOrCreate().head();
                    // another boundary is that of a new register, whose former packs may be adopted
                    yield remove(head, head.boundary() == due ? due : 0);
                }
                case SwapResult.GaveUp gaveUp -> throw new CompactionException(gaveUp.cause());
                case SwapResult.Failed(String cause) -> throw new CompactionException(cause);
                case SwapResult.Unknown(String cause) -> throw new CompactionException(cause);
            };
        } catch (RegisterException e) {
            throw CompactionException.of(e);
        }
    }

    private static Change change(Head head, long now, Duration grace) {
        if (isDue(head, now, grace)) {
            return new Change.Next(head.advanced().noted(now));
        }
        return head.candidate().isEmpty() && now > 0
                ? new Change.Next(head.noted(now))
                : Change.NOTHING;
    }

    private static boolean isDue(Head head, long now, Duration grace) {
        return head.candidate()
                .filter(candidate -> now > 0 && now - candidate.sinceMillis() >= grace.toMillis())
                .isPresent();
    }

    private Removal remove(Head head, long boundary) throws CompactionException, RegisterException {
        List<String> removable = new ArrayList<>();
        long waiting = list(head, boundary, removable);
        long removed = 0;
        for (String key : removable) {
            if (store.delete(key) instanceof WriteResult.Done) {
                removed++;
            }
        }
        return new Removal(removed, removable.size() - removed, waiting);
    }

    /** Lists what a head does not name; returns the number of objects that are not below. */
    private long list(Head head, long boundary, List<String> removable)
            throws CompactionException, RegisterException {
        Set<ObjectName> named = new HashSet<>();
        for (PackInfo pack : register.packs(head)) {
            named.add(pack.name());
        }
        head.retired().forEach(one -> named.add(one.name()));
        head.base().ifPresent(named::add);
        long[] waiting = {head.retired().size()};
        for (String prefix : List.of(keys.packPrefix(), keys.basePrefix())) {
            ListResult listed = store.list(prefix, object -> {
                Optional<ObjectName> name =
                        keys.packName(object.key()).or(() -> keys.baseName(object.key()));
                if (name.isEmpty() || named.contains(name.get())) {
                    return; // objects of unknown names are never touched
                }
                if (name.get().generation() < boundary) {
                    removable.add(object.key());
                } else {
                    waiting[0]++;
                }
            });
            if (listed instanceof ListResult.Unavailable unavailable) {
                throw new CompactionException("packs cannot be listed: " + unavailable.failure());
            }
        }
        return waiting[0];
    }
}
