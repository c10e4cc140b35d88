package dev.granary.s3.contract;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

/**
 * Chooses the fault of each request. Called once for each, by many threads, in the order of the
 * requests.
 */
@FunctionalInterface
public interface FaultPlan {
    /** No faults. */
    FaultPlan SOUND = _ -> new Fault.None();

    /** Returns the fault of {@code request}. */
    Fault next(S3Request request);

    /** Returns a plan with this fault for every request. */
    static FaultPlan always(Fault fault) {
        return _ -> fault;
    }

    /** Returns a plan with this fault for every request that {@code chosen} accepts. */
    static FaultPlan when(Predicate<S3Request> chosen, Fault fault) {
        return request -> chosen.test(request) ? fault : new Fault.None();
    }

    /**
     * Returns a plan with this fault for one request: the one with this number, from 0, of those
     * that {@code chosen} accepts.
     */
    static FaultPlan once(Predicate<S3Request> chosen, int number, Fault fault) {
        AtomicInteger seen = new AtomicInteger();
        return request ->
                chosen.test(request) && seen.getAndIncrement() == number ? fault : new Fault.None();
    }

    /** Returns a plan with these faults for the next requests, in order, and none afterwards. */
    static FaultPlan script(Fault... faults) {
        Deque<Fault> left = new ArrayDeque<>(List.of(faults));
        return _ -> {
            synchronized (left) {
                return left.isEmpty() ? new Fault.None() : left.remove();
            }
        };
    }

    /**
     * Returns a plan with a random fault of these for each request with that probability;
     * {@code random} belongs to the plan.
     */
    static FaultPlan drawn(SplittableRandom random, double probability, List<Fault> faults) {
        return _ -> {
            synchronized (random) {
                return random.nextDouble() < probability
                        ? faults.get(random.nextInt(faults.size()))
                        : new Fault.None();
            }
        };
    }
}
