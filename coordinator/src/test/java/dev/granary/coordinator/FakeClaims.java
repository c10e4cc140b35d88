package dev.granary.coordinator;

import dev.granary.cache.Id;
import dev.granary.local.ClaimResult;
import java.util.function.Function;

/** Claims on one id that answer what they are told, and a claim that remembers what was done with it. */
final class FakeClaims implements Function<Id, ClaimResult> {
    final Mine mine = new Mine();
    ClaimResult answer = mine;
    int asked;

    @Override
    public ClaimResult apply(Id id) {
        asked++;
        return answer;
    }

    static final class Mine implements ClaimResult.Mine {
        boolean awaitsLaunch;
        boolean isClosed;

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
