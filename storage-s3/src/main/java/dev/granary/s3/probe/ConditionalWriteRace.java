package dev.granary.s3.probe;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Concurrent conditional writes, of which exactly one may win and determine the object.
 *
 * <p>Two winners are conclusive at once. Ambiguous responses (409 to all, 500, 503) leave a round
 * unclear, and another round follows. After the last one, a server with exactly one winner in some
 * round, and never more, has passed: some servers report a lost race as 500.
 */
final class ConditionalWriteRace {
    /** Number of concurrent writers. */
    static final int RACERS = 32;

    private static final int ROUNDS = 3;
    private static final int LIMIT = 1 << 10;

    private final ObjectStore store;

    ConditionalWriteRace(ObjectStore store) {
        this.store = store;
    }

    /**
     * One key that all write to.
     *
     * @param key the key
     * @param write writes a body with the condition
     */
    record Course(String key, Function<byte[], WriteResult> write) {}

    /** Creator of a course for a round. */
    interface Setup {
        /** Returns a fresh course; empty if the setup failed. */
        Optional<Course> next() throws InterruptedException;
    }

    /**
     * Outcome of one round.
     *
     * @param hasWinner exactly one write was acknowledged, and the object has its body
     * @param failure a failure that makes the round unclear
     */
    private record Round(boolean hasWinner, Optional<StoreFailure> failure) {}

    /**
     * Runs the rounds.
     *
     * @throws ProbeStepException if the server does not honour the condition, or every round was
     *     unclear
     */
    void run(Setup setup) throws InterruptedException, ProbeStepException {
        boolean hasWinner = false;
        StoreFailure last =
                StoreFailure.of(StoreFailure.Kind.SERVER, "every response was a conflict");
        for (int i = 0; i < ROUNDS; i++) {
            Optional<Course> course = setup.next();
            if (course.isPresent()) {
                Round round = round(course.get());
                if (round.hasWinner() && round.failure().isEmpty()) {
                    return;
                }
                hasWinner |= round.hasWinner();
                last = round.failure().orElse(last);
            }
        }
        if (!hasWinner) {
            throw new ProbeStepException(last);
        }
    }

    private Round round(Course course) throws InterruptedException, ProbeStepException {
        List<WriteResult> results = race(course);
        List<Integer> winners = IntStream.range(0, RACERS)
                .filter(i -> results.get(i) instanceof WriteResult.Done)
                .boxed()
                .toList();
        Optional<StoreFailure> failure = results.stream()
                .flatMap(result -> WriteResult.failureOf(result).stream())
                .findFirst();
        if (winners.size() > 1) {
            throw new ProbeStepException(winners.size() + " of " + RACERS + " won");
        }
        if (winners.isEmpty()) {
            if (failure.isEmpty()
                    && results.stream().noneMatch(WriteResult.Conflict.class::isInstance)) {
                throw new ProbeStepException("none of " + RACERS + " won");
            }
            return new Round(false, failure);
        }
        return switch (store.get(course.key(), LIMIT)) {
            case GetResult.Found found
            when Arrays.equals(
                    body(winners.getFirst()), found.bytes().toArray(ValueLayout.JAVA_BYTE)) ->
                new Round(true, failure);
            case GetResult.Found _, GetResult.TooLarge _, GetResult.Absent _ ->
                throw new ProbeStepException("the object does not have the winner's body");
            case GetResult.Unavailable lost -> new Round(false, Optional.of(lost.failure()));
        };
    }

    private static List<WriteResult> race(Course course) throws InterruptedException {
        CountDownLatch start = new CountDownLatch(1);
        List<Future<WriteResult>> running = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < RACERS; i++) {
                byte[] body = body(i);
                running.add(threads.submit(() -> {
                    start.await();
                    return course.write().apply(body);
                }));
            }
            start.countDown();
            List<WriteResult> results = new ArrayList<>();
            for (Future<WriteResult> one : running) {
                results.add(one.get());
            }
            return results;
        } catch (ExecutionException e) {
            throw new IllegalStateException("An object store threw", e.getCause());
        }
    }

    private static byte[] body(int number) {
        return "racer %02d of a trial of granary".formatted(number).getBytes(US_ASCII);
    }
}
