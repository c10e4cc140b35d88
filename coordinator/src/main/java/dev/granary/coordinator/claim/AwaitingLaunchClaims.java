package dev.granary.coordinator.claim;

import dev.granary.cache.Id;
import dev.granary.local.ClaimResult;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/**
 * The claims of this process whose primitives await their first launch, which may never come.
 * Thread-safe.
 *
 * <p>If a thread looks up another primitive before it launches, its claims are closed, so that two
 * threads never wait for each other's launches. All others are closed after a grace period.
 */
final class AwaitingLaunchClaims {
    private final Executor graceTimer;
    private final Map<Id, AwaitingClaim> claims = new ConcurrentHashMap<>();

    /**
     * Creates an empty set of claims.
     *
     * @param graceTimer runs a task when the grace period of a claim ends
     */
    AwaitingLaunchClaims(Executor graceTimer) {
        this.graceTimer = graceTimer;
    }

    /**
     * Wraps a claim of the current thread. It is in this set from {@link CompileClaim#awaitLaunch}
     * to {@link CompileClaim#launched}.
     */
    CompileClaim claim(Id id, ClaimResult.Mine localClaim) {
        return new AwaitingClaim(id, localClaim);
    }

    /** Returns true if the claim on {@code id} is in this set. */
    boolean contains(Id id) {
        return claims.containsKey(id);
    }

    /** Closes the claims that the current thread owns. */
    void closeOwnedByCurrentThread() {
        for (AwaitingClaim claim : claims.values()) {
            if (claim.owner == Thread.currentThread()) {
                claim.closeUnlessLaunched();
            }
        }
    }

    /** A claim that may be held until the first launch. */
    private final class AwaitingClaim implements CompileClaim {
        private final Id id;
        private final ClaimResult.Mine localClaim;
        private final Thread owner = Thread.currentThread();

        AwaitingClaim(Id id, ClaimResult.Mine localClaim) {
            this.id = id;
            this.localClaim = localClaim;
        }

        @Override
        public void awaitLaunch() {
            localClaim.awaitLaunch();
            claims.put(id, this);
            graceTimer.execute(this::closeUnlessLaunched);
        }

        @Override
        public void launched() {
            claims.remove(id, this);
        }

        void closeUnlessLaunched() {
            if (claims.remove(id, this)) {
                localClaim.close();
            }
        }

        @Override
        public void close() {
            claims.remove(id, this);
            localClaim.close();
        }
    }
}
