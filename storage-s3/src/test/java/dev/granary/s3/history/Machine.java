package dev.granary.s3.history;

import dev.granary.s3.TestProcess;
import dev.granary.s3.config.S3Config;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** A machine of the fleet, with one process at a time, which does one thing at a time. */
final class Machine {
    private static final long ONE_PAUSE_MILLIS = 10;
    private static final long LONG_MILLIS = 30_000;

    private final History history;
    private final Bucket bucket;
    private final String name;
    private final boolean mayList;
    private final S3Config config;
    private final Optional<Path> shelf;
    private final long skewMillis;
    private final Wire wire;
    private final RandomGenerator random;
    private final Deque<Runnable> behind = new ArrayDeque<>();
    private TestProcess process;
    private @Nullable Work work;
    private long troubledAtMillis;
    private int isFrozenFor;

    /** What a process is doing. */
    static final class Work {
        private final String what;
        private final Ledger.Remover remover;
        private final long fromMillis;
        private final int mark;
        private Fibers.@Nullable Fiber fiber;
        private int troubles;
        private int lies;
        private boolean isWhole;
        private boolean wasToldOfWhatIsGone;

        Work(String what, Ledger.Remover remover, long fromMillis, int mark) {
            this.what = what;
            this.remover = remover;
            this.fromMillis = fromMillis;
            this.mark = mark;
        }

        void by(Fibers.Fiber doing) {
            this.fiber = doing;
        }

        Fibers.Fiber fiber() {
            return Objects.requireNonNull(fiber);
        }

        String what() {
            return what;
        }

        long fromMillis() {
            return fromMillis;
        }

        int mark() {
            return mark;
        }

        boolean hadTrouble() {
            return troubles > 0;
        }

        boolean hasHeardALie() {
            return lies > 0;
        }

        void trouble(Disturbance one) {
            troubles++;
            lies += one.isLie() ? 1 : 0;
        }

        boolean wasToldOfWhatIsGone() {
            return wasToldOfWhatIsGone;
        }
    }

    /**
     * What a machine is.
     *
     * @param name its name
     * @param mayList whether its credentials may list
     * @param shelves where it keeps manifests; empty: nowhere
     * @param skewMillis how far its wall clock is ahead
     */
    record Kind(String name, boolean mayList, Optional<Path> shelves, long skewMillis) {}

    Machine(History history, Bucket bucket, Ledger ledger, S3Config.Builder config, Kind kind, String namespace, SplittableRandom random) {
        this.history = history;
        this.bucket = bucket;
        this.name = kind.name();
        this.mayList = kind.mayList();
        this.skewMillis = kind.skewMillis();
        kind.shelves().ifPresent(config::packIndexCache);
        this.config = config.build();
        this.shelf = kind.shelves().map(shelves -> shelves.resolve(namespace).resolve("manifest"));
        this.wire = new Wire(bucket, ledger, this);
        this.random = locked(random);
        this.process = start();
    }

    private static RandomGenerator locked(SplittableRandom random) {
        return () -> {
            synchronized (random) {
                return random.nextLong();
            }
        };
    }

    private TestProcess start() {
        return new TestProcess(config, wire, new TestProcess.Environment(() -> bucket.nowMillis() * 1_000_000, () -> bucket.nowMillis() + skewMillis,
                (Duration _) -> bucket.pass(ONE_PAUSE_MILLIS), random, behind::add));
    }

    /** Ends the process, and starts another one. */
    void reboot() {
        process.close();
        behind.clear();
        process = start();
    }

    void close() {
        process.close();
    }

    String name() {
        return name;
    }

    boolean mayList() {
        return mayList;
    }

    TestProcess process() {
        return process;
    }

    boolean isIdle() {
        return work == null;
    }

    Work work() {
        return Objects.requireNonNull(work);
    }

    void begin(Work next) {
        work = next;
    }

    void end() {
        if (isLong(work())) {
            troubledAtMillis = bucket.nowMillis(); // what it knows now it may have asked before it was suspended
        }
        work = null;
        stampShelf();
    }

    /** True where a process was suspended in it, or might as well have been. */
    boolean isLong(Work one) {
        return bucket.nowMillis() - one.fromMillis() > LONG_MILLIS;
    }

    /** Freezes the process for so many steps of the history. */
    void freeze(int steps) {
        isFrozenFor = steps;
    }

    boolean isFrozen() {
        return isFrozenFor > 0;
    }

    void thaw(int steps) {
        isFrozenFor = Math.max(0, isFrozenFor - steps);
    }

    /** How long its requests had no trouble, in milliseconds. */
    long calmMillis() {
        return bucket.nowMillis() - troubledAtMillis;
    }

    /** Does what is to be done behind the callers; in fact it is done at once, so in a history before or after them. */
    void doBehind() {
        Runnable task;
        while ((task = behind.poll()) != null) {
            task.run();
        }
    }

    /** The files of the machine's disk have the time of the history. */
    void stampShelf() {
        if (shelf.isPresent() && Files.exists(shelf.get())) {
            try {
                long real = Files.getLastModifiedTime(shelf.get()).toMillis();
                if (real > bucket.nowMillis() + History.FAR_MILLIS) {
                    Files.setLastModifiedTime(shelf.get(), FileTime.fromMillis(bucket.nowMillis() + skewMillis));
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** While this runs, nobody else does anything, and nothing goes wrong. */
    void whole(Runnable task) {
        work().isWhole = true;
        try {
            task.run();
        } finally {
            work().isWhole = false;
        }
    }

    // ---- called by the wire

    Disturbance request(String method, String key) {
        Work now = work();
        if (now.isWhole) {
            return Disturbance.NONE;
        }
        history.turn(this);
        Disturbance trouble = history.trouble(now, method);
        if (trouble != Disturbance.NONE) {
            now.trouble(trouble);
            troubledAtMillis = bucket.nowMillis();
        }
        return trouble;
    }

    void answered(String method, String key, Disturbance trouble, Supplier<String> result) {
        history.trace(() -> "    " + name + " " + method + " " + Ledger.shorten(key) + " -> " + result.get() + (trouble == Disturbance.NONE ? "" : "   ! " + trouble));
    }

    void landed(String method, String key, String result) {
        history.trace(() -> "  late: " + name + " " + method + " " + Ledger.shorten(key) + " -> " + result);
    }

    void toldOfWhatIsGone() {
        work().wasToldOfWhatIsGone = true;
    }

    Ledger.Remover remover() {
        return work().remover;
    }

    int lag() {
        return history.lag();
    }
}
