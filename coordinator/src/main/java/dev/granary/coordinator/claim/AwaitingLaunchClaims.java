package dev.granary.coordinator.claim;

import dev.granary.cache.Id;
import dev.granary.local.claim.ClaimResult;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/**
 * The claims of this Granary whose primitives await their first launch, which may never come. Thread-safe.
 *
 * <p>A thread that looks for the next primitive instead of launching lets go of those that it got, so that two never wait for each other's
 * launches. The others are let go after a while.
 */
final class AwaitingLaunchClaims {
    private final Executor afterGrace;
    private final Map<Id, Held> held = new ConcurrentHashMap<>();

    /** Claims that are let go when {@code afterGrace} runs what it is given. */
    AwaitingLaunchClaims(Executor afterGrace) {
        this.afterGrace = afterGrace;
    }

    /** Wraps a claim that this thread got; it is among these from {@link CompileClaim#awaitLaunch} to {@link CompileClaim#launched}. */
    CompileClaim claim(Id id, ClaimResult.Mine mine) {
        return new Held(id, mine);
    }

    /** True where the claim on {@code id} is among these. */
    boolean has(Id id) {
        return held.containsKey(id);
    }

    /** Lets go of those that this thread got. */
    void closeThoseOfThisThread() {
        for (Held claim : held.values()) {
            if (claim.owner == Thread.currentThread()) {
                claim.closeUnlessLaunched();
            }
        }
    }

    private final class Held implements CompileClaim {
        private final Id id;
        private final ClaimResult.Mine mine;
        private final Thread owner = Thread.currentThread();

        Held(Id id, ClaimResult.Mine mine) {
            this.id = id;
            this.mine = mine;
        }

        @Override
        public void awaitLaunch() {
            mine.awaitLaunch();
            held.put(id, this);
            afterGrace.execute(this::closeUnlessLaunched);
        }

        @Override
        public void launched() {
            held.remove(id, this);
        }

        void closeUnlessLaunched() {
            if (held.remove(id, this)) {
                mine.close();
            }
        }

        @Override
        public void close() {
            held.remove(id, this);
            mine.close();
        }
    }
}
