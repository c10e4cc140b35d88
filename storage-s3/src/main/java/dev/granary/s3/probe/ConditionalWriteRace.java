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

    /** One of the writers. */
    interface Racer {
        WriteResult write(byte[] body);
    }

    /** Setup of a fresh object for a round. */
    interface Setup {
        /** Returns the key that all write to; empty if the setup failed. */
        Optional<String> key() throws InterruptedException;

        /** Returns the write to that key. */
        Racer racer(String key);
    }

    /** The outcome of one race for one object. */
    private sealed interface Round {
        /** Exactly one write succeeded, and the object has its body. */
        record Clear() implements Round {}

        /** The server did not honour the condition. */
        record Broken(String how) implements Round {}

        /**
         * Ambiguous; {@code oneWon} if exactly one write was acknowledged and the object has its
         * body.
         */
        record Unclear(boolean oneWon, Optional<StoreFailure> failure) implements Round {}
    }

    private final ObjectStore store;

    ConditionalWriteRace(ObjectStore store) {
        this.store = store;
    }

    ProbeStep run(Setup setup) throws InterruptedException {
        boolean hasWinner = false;
        StoreFailure last =
                StoreFailure.of(StoreFailure.Kind.SERVER, "every response was a conflict");
        for (int i = 0; i < ROUNDS; i++) {
            Optional<String> key = setup.key();
            if (key.isEmpty()) {
                continue;
            }
            switch (round(key.get(), setup.racer(key.get()))) {
                case Round.Clear _ -> {
                    return ProbeStep.PASSED;
                }
                case Round.Broken broken -> {
                    return new ProbeStep.Broken(broken.how());
                }
                case Round.Unclear unclear -> {
                    hasWinner |= unclear.oneWon();
                    last = unclear.failure().orElse(last);
                }
            }
        }
        return hasWinner ? ProbeStep.PASSED : new ProbeStep.Aborted(last);
    }

    private Round round(String key, Racer racer) throws InterruptedException {
        List<WriteResult> results = race(racer);
        List<Integer> winners = new ArrayList<>();
        Optional<StoreFailure> failure = Optional.empty();
        boolean anyConflict = false;
        for (int i = 0; i < results.size(); i++) {
            switch (results.get(i)) {
                case WriteResult.Done _ -> winners.add(i);
                case WriteResult.PreconditionFailed _ -> {}
                case WriteResult.Conflict _ -> anyConflict = true;
                case WriteResult.Unknown unknown -> failure = Optional.of(unknown.failure());
                case WriteResult.NotSent unsent -> failure = Optional.of(unsent.failure());
                case WriteResult.NotAllowed refused -> failure = Optional.of(refused.failure());
            }
        }
        if (winners.size() > 1) {
            return new Round.Broken(winners.size() + " of " + RACERS + " won");
        }
        if (winners.isEmpty()) {
            return failure.isPresent() || anyConflict
                    ? new Round.Unclear(false, failure)
                    : new Round.Broken("none of " + RACERS + " won");
        }
        return verifyWinner(key, body(winners.getFirst()), failure);
    }

    private Round verifyWinner(String key, byte[] winner, Optional<StoreFailure> failure) {
        return switch (store.get(key, LIMIT)) {
            case GetResult.Found found
            when Arrays.equals(winner, found.bytes().toArray(ValueLayout.JAVA_BYTE)) ->
                failure.isEmpty() ? new Round.Clear() : new Round.Unclear(true, failure);
            case GetResult.Found _, GetResult.TooLarge _, GetResult.Absent _ ->
                new Round.Broken("the object does not have the winner's body");
            case GetResult.Unavailable lost ->
                new Round.Unclear(false, Optional.of(lost.failure()));
        };
    }

    private static List<WriteResult> race(Racer racer) throws InterruptedException {
        CountDownLatch start = new CountDownLatch(1);
        List<Future<WriteResult>> running = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < RACERS; i++) {
                byte[] body = body(i);
                running.add(threads.submit(() -> {
                    start.await();
                    return racer.write(body);
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
