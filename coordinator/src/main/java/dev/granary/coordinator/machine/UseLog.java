package dev.granary.coordinator.machine;

import dev.granary.cache.Deadline;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.tier.Tiers.Layer;
import dev.granary.s3.UseNotes.UseNote;
import dev.granary.s3.store.WriteResult;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * The ids that this process has used, and the notes of this machine's use in the buckets. All
 * processes of a machine collect in its directory, and at most once an hour one of them sends what
 * all have. Nothing here fails a lookup or a close: a note that is lost delays the next one.
 * Thread-safe.
 *
 * <p>Ids are kept as long as the process runs, since a hit in memory leaves no trace.
 */
public final class UseLog {
    /** The largest number of ids of a process. */
    private static final int MAX_IDS = 100_000;

    /** The time until the first note of a process, and between its notes. */
    private static final Duration FIRST = Duration.ofMinutes(10);

    private static final Duration PERIOD = Duration.ofHours(3);

    /** The longest wait of a process that ends, unless its flush limit is longer. */
    private static final Duration LAST_WAIT = Duration.ofSeconds(2);

    /** The longest wait for notes that are sent at once. */
    private static final Duration SEND_WAIT = Duration.ofSeconds(10);

    private static final long MILLIS_PER_DAY = TimeUnit.DAYS.toMillis(1);
    private static final Duration LOCK_LIMIT = Duration.ofSeconds(1);
    private static final Logger LOG = LoggerFactory.getLogger(UseLog.class);

    /** Whether notes are sent. */
    enum Sending {
        NEVER,
        WHEN_DUE,
        NOW
    }

    private final Machine machine;
    private final List<Layer> buckets;
    private final Supplier<GranaryStatistics> statistics;
    private final InstantSource clock;
    private final Map<Target, Set<Long>> used = new ConcurrentHashMap<>();
    private final AtomicInteger size = new AtomicInteger();
    private final Map<String, UseState> states = new ConcurrentHashMap<>(); // without a directory
    private @Nullable CompletableFuture<Boolean> timer; // null before the first and after the last

    /** The counters of this process, and those of the machine with them. */
    private record Counted(Map<String, Long> own, Map<String, Long> totals) {
        /** Returns the counters of the machine before this process. */
        Map<String, Long> before() {
            Map<String, Long> before = new TreeMap<>();
            totals.forEach((name, count) ->
                    before.put(name, Math.max(0, count - own.getOrDefault(name, 0L))));
            return before;
        }
    }

    public UseLog(
            Machine machine,
            List<Layer> layers,
            Supplier<GranaryStatistics> statistics,
            InstantSource clock) {
        this.machine = machine;
        List<Layer> noted = new ArrayList<>();
        for (Layer layer : layers) {
            if (layer.bucket().isPresent() && !layer.bucket().get().isAnonymous()) {
                noted.add(layer);
            }
        }
        this.buckets = noted;
        this.statistics = statistics;
        this.clock = clock;
        if (!buckets.isEmpty()) { // machines that start together send at different times
            long half = FIRST.toMillis() / 2; // the division of a Duration takes a start 24 ms
            start(Duration.ofMillis(half + ThreadLocalRandom.current().nextLong(half)));
        }
    }

    /** Records a use; without effect for an empty id. */
    public void add(Id id) {
        if (!buckets.isEmpty()
                && !id.isEmpty()
                && size.get() < MAX_IDS
                && used.computeIfAbsent(id.target(), _ -> ConcurrentHashMap.newKeySet())
                        .add(id.hash().prefix())) {
            size.incrementAndGet();
        }
    }

    private synchronized void start(Duration delay) {
        CompletableFuture<Boolean> next = new CompletableFuture<Boolean>()
                .completeOnTimeout(true, delay.toNanos(), TimeUnit.NANOSECONDS);
        timer = next;
        CompletableFuture<Void> _ = next.thenAccept(isTime -> {
            if (isTime) {
                CompletableFuture<Void> _ = report(Sending.WHEN_DUE, Deadline.NONE)
                        .whenComplete((_, _) -> restart(next));
            }
        });
    }

    private synchronized void restart(CompletableFuture<Boolean> last) {
        if (timer == last) { // else this process has ended
            start(PERIOD);
        }
    }

    /**
     * Ends the log: sends the notes that are due, or keeps their content in the directory.
     *
     * @param maySend false if the process is ending without time for requests
     */
    public void finish(boolean maySend) {
        if (buckets.isEmpty()) {
            return;
        }
        synchronized (this) {
            if (timer != null) {
                timer.complete(false);
                timer = null;
            }
        }
        Duration limit = Collections.max(List.of(LAST_WAIT, machine.config().flushLimit()));
        await(maySend ? Sending.WHEN_DUE : Sending.NEVER, Deadline.after(limit));
    }

    /** Sends the notes now, due or not: a collector must know of what a program relies on. */
    public void send() {
        await(Sending.NOW, Deadline.after(SEND_WAIT));
    }

    private void await(Sending sending, Deadline deadline) {
        try {
            report(sending, deadline).get(deadline.left(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (TimeoutException | ExecutionException e) {
            LOG.debug("The notes of use are not written: {}", e.toString());
        }
    }

    /** Writes the notes of all buckets in the background, at once: one may be silent. */
    CompletableFuture<Void> report(Sending sending, Deadline deadline) {
        if (buckets.isEmpty()) {
            return CompletableFuture.completedFuture(null);
        }
        try {
            CompletableFuture<Counted> counted =
                    CompletableFuture.supplyAsync(this::counted, UseLog::background);
            return CompletableFuture.allOf(buckets.stream()
                    .map(layer -> counted.thenAcceptAsync(
                            counters -> report(layer, counters, sending, deadline),
                            UseLog::background))
                    .toArray(CompletableFuture<?>[]::new));
        } catch (RuntimeException | Error e) { // such as no thread
            return CompletableFuture.failedFuture(e);
        }
    }

    private static void background(Runnable task) {
        DaemonThreads.named("granary-notes").newThread(task).start();
    }

    private Counted counted() {
        GranaryStatistics now = statistics.get();
        Map<String, Long> own = new TreeMap<>();
        Map<String, Long> totals = new TreeMap<>();
        Map<String, Long> stored = machine.addTotals(now).orElse(now.counters());
        for (Counter counter : Counter.values()) { // without those that name a layer
            own.put(counter.label(), now.count(counter));
            totals.put(counter.label(), stored.getOrDefault(counter.label(), 0L));
        }
        return new Counted(own, totals);
    }

    private void report(Layer layer, Counted counted, Sending sending, Deadline deadline) {
        try {
            Map<String, long[]> ids = new TreeMap<>();
            used.forEach((target, hashes) -> ids.put(
                    target.path(), hashes.stream().mapToLong(Long::longValue).toArray()));
            long now = clock.millis();
            LocalDate today = LocalDate.ofEpochDay(Math.floorDiv(now, MILLIS_PER_DAY));
            if (sending != Sending.NOW && append(layer, ids, sending == Sending.WHEN_DUE, now)) {
                return;
            }
            UseState first = UseState.first(today, counted.before());
            AtomicBoolean isDue = new AtomicBoolean();
            UseState state = update(layer, first, last -> {
                UseState next = last.on(today);
                isDue.set(
                        (sending == Sending.NOW || (sending == Sending.WHEN_DUE && next.isDue(now)))
                                && (next.isPending() || !ids.isEmpty()));
                return (isDue.get() ? next.tried(now) : next).with(ids);
            });
            if (isDue.get()) {
                send(layer, state, counted.totals(), deadline);
            }
        } catch (IOException | RuntimeException e) { // such as of a full disk
            LOG.debug("The note of use for {} is not written: {}", layer.name(), e.toString());
        }
    }

    private void send(Layer layer, UseState state, Map<String, Long> totals, Deadline deadline)
            throws IOException {
        boolean isAwaited = deadline.left() < Long.MAX_VALUE; // not for a bucket that just failed
        Optional<String> obstacle = layer.bounds()
                .obstacle(deadline)
                .or(() -> isAwaited ? layer.bounds().failure() : Optional.empty());
        if (obstacle.isPresent()) {
            LOG.debug("No note of use for {}: {}", layer.name(), obstacle.get());
            return;
        }
        UseNote note = state.note(totals);
        WriteResult written = layer.bucket().orElseThrow().useNotes().write(note);
        if (!(written instanceof WriteResult.Done)) {
            LOG.debug("No note of use for {}: {}", layer.name(), written);
        }
        update(layer, state, now -> {
            if (now.triedMillis() != state.triedMillis()) {
                return now; // of a later attempt
            }
            return switch (written) {
                case WriteResult.Done _ -> now.sent(note, totals);
                case WriteResult.NotAllowed _ -> now.refused();
                default -> now;
            };
        });
    }

    private boolean append(Layer layer, Map<String, long[]> ids, boolean maySend, long nowMillis)
            throws IOException {
        if (machine.session().isEmpty()) {
            return false;
        }
        Path file = file(layer);
        try (FileTurn _ = turn(file)) {
            return UseState.append(file, ids, maySend, nowMillis);
        }
    }

    private Path file(Layer layer) throws IOException {
        return Files.createDirectories(machine.config().directory().resolve("notes"))
                .resolve(UseState.fileName(layer.name()));
    }

    private static FileTurn turn(Path file) throws IOException {
        return FileTurn.await(file.resolveSibling("lock"), LOCK_LIMIT);
    }

    /**
     * Changes the state of a layer, with no other process at it.
     *
     * @param absent the state if there is none
     */
    private UseState update(Layer layer, UseState absent, UnaryOperator<UseState> change)
            throws IOException {
        if (machine.session().isEmpty()) {
            return states.compute(
                    layer.name(), (_, state) -> change.apply(state == null ? absent : state));
        }
        Path file = file(layer);
        try (FileTurn _ = turn(file)) {
            Optional<UseState> state = UseState.read(file);
            UseState changed = change.apply(state.orElse(absent));
            if (!state.equals(Optional.of(changed))) {
                changed.write(file);
            }
            return changed;
        }
    }
}
