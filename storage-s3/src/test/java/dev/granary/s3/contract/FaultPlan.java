package dev.granary.s3.contract;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

/** Says what happens to which request. Asked once for each, by many threads at once, in the order in which the requests come. */
@FunctionalInterface
public interface FaultPlan {
    /** Nothing happens to any. */
    FaultPlan SOUND = _ -> new Fault.None();

    /** What happens to {@code request}. */
    Fault next(S3Request request);

    /** This happens to every request. */
    static FaultPlan always(Fault fault) {
        return _ -> fault;
    }

    /** This happens to every request that {@code chosen} accepts, and nothing to the others. */
    static FaultPlan when(Predicate<S3Request> chosen, Fault fault) {
        return request -> chosen.test(request) ? fault : new Fault.None();
    }

    /** This happens to one request: of those that {@code chosen} accepts, the one with that number, from 0. */
    static FaultPlan once(Predicate<S3Request> chosen, int number, Fault fault) {
        AtomicInteger seen = new AtomicInteger();
        return request -> chosen.test(request) && seen.getAndIncrement() == number ? fault : new Fault.None();
    }

    /** These happen to the next requests, one after the other; then nothing does. */
    static FaultPlan script(Fault... faults) {
        Deque<Fault> left = new ArrayDeque<>(List.of(faults));
        return _ -> {
            synchronized (left) {
                return left.isEmpty() ? new Fault.None() : left.remove();
            }
        };
    }

    /** One of these happens to each request with that probability; {@code random} is used by this plan alone. */
    static FaultPlan drawn(SplittableRandom random, double probability, List<Fault> faults) {
        return _ -> {
            synchronized (random) {
                return random.nextDouble() < probability ? faults.get(random.nextInt(faults.size())) : new Fault.None();
            }
        };
    }
}
