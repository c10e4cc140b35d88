package dev.granary.coordinator;

import dev.granary.cache.Id;
import dev.granary.local.claim.ClaimResult;
import java.util.function.Function;

/** Claims on one id that answer what they are told, and a claim that remembers what was done with it. */
public final class FakeClaims implements Function<Id, ClaimResult> {
    public final Mine mine = new Mine();
    public ClaimResult answer = mine;
    int asked;

    @Override
    public ClaimResult apply(Id id) {
        asked++;
        return answer;
    }

    public static final class Mine implements ClaimResult.Mine {
        public boolean awaitsLaunch;
        public boolean isClosed;

        @Override
        public void awaitLaunch() {
            awaitsLaunch = true;
        }

        @Override
        public void close() {
            isClosed = true;
        }
    }
}
