package dev.granary.local;

import dev.granary.local.LedgerState.Condition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * One walk over the directory: counts the bytes anew, removes what dead writers left, and evicts the oldest entries where they are more than
 * the capacity. One process does it at a time; the others do not wait.
 */
final class Sweep {
    /** An account this old is counted again. */
    static final Duration RECOUNT = Duration.ofDays(1);

    /** What eviction leaves, in percent of the capacity: the room that makes walks rare. */
    static final int KEPT_PERCENT = 90;

    private final Layout layout;
    private final Ledger ledger;
    private final TemporaryFiles temporary;
    private final Recency recency;
    private final InstantSource clock;
    private final LongSupplier capacity;
    private final Trouble trouble;

    final LongAdder evictions = new LongAdder();
    final LongAdder bytesEvicted = new LongAdder();
    final LongAdder sweptTemporaryFiles = new LongAdder();

    Sweep(Layout layout, Ledger ledger, TemporaryFiles temporary, Recency recency, InstantSource clock, LongSupplier capacity,
            Trouble trouble) {
        this.layout = layout;
        this.ledger = ledger;
        this.temporary = temporary;
        this.recency = recency;
        this.clock = clock;
        this.capacity = capacity;
        this.trouble = trouble;
    }

    /** True where a walk would change something: full, miscounted, or not counted for long. */
    boolean isDue(LedgerState account) {
        return account.used() > capacity.getAsLong()
                || account.condition() != Condition.SOUND
                || Math.abs(clock.millis() - account.sweptMillis()) > RECOUNT.toMillis();
    }

    /** Sweeps if that is due; returns false where another process or thread is at it. */
    boolean runIfDue() {
        return !isDue(ledger.state(trouble)) || run();
    }

    /** Sweeps; returns false where another process or thread is at it. */
    boolean run() {
        return ledger.sweepAlone(() -> {
            recency.flush();
            try {
                LedgerState before = ledger.state(trouble);
                List<Layout.Found> all = new ArrayList<>();
                layout.walk(all::add);
                long counted = all.stream().mapToLong(Layout.Found::bytes).sum();
                ledger.recalibrate(before, counted, clock.millis(), trouble);
                if (ledger.known().used() > capacity.getAsLong()) {
                    evict(all, ledger.known().used() - capacity.getAsLong() / 100 * KEPT_PERCENT);
                }
                sweptTemporaryFiles.add(temporary.sweep());
            } catch (IOException e) {
                trouble.record(Trouble.Kind.SWEEPING, e);
            }
        }, trouble);
    }

    /** Removes every entry. */
    void clear() {
        recency.flush();
        try {
            layout.walk(found -> remove(found));
        } catch (IOException e) {
            trouble.record(Trouble.Kind.SWEEPING, e);
        }
    }

    private void evict(List<Layout.Found> all, long excess) {
        all.sort(Comparator.comparingLong(Layout.Found::stampMillis));
        long left = excess;
        for (Layout.Found oldest : all) {
            if (left <= 0) {
                return;
            }
            long freed = remove(oldest);
            if (freed > 0) {
                evictions.increment();
                bytesEvicted.add(freed);
            }
            left -= freed;
        }
    }

    /** Removes an entry that was not used since; returns how many bytes that freed. */
    private long remove(Layout.Found found) {
        long[] freed = {0};
        try {
            ledger.change(() -> {
                EntryFile.Identity now = EntryFile.Identity.of(found.file());
                if (now.stampMillis() != found.stampMillis()) {
                    return 0; // used or replaced since the walk
                }
                Files.delete(found.file());
                freed[0] = now.bytes();
                return -now.bytes();
            }, Step.Listener.NONE, trouble);
        } catch (NoSuchFileException e) {
            return 0; // gone already
        } catch (IOException e) {
            trouble.record(Trouble.Kind.REMOVING, e);
        }
        return freed[0];
    }
}
