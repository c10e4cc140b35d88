package dev.granary.coordinator;

import dev.granary.cache.Id;
import dev.granary.local.ClaimResult;

import java.util.function.Function;

/** Claims with a configurable result, and a claim that records its calls. */
public final class FakeClaims implements Function<Id, ClaimResult> {
    public final Mine mine = new Mine();
    public ClaimResult answer = mine;
    int calls;

    @Override
    public ClaimResult apply(Id id) {
        calls++;
        return answer;
    }

    public static final class Mine implements ClaimResult.Mine {
        public boolean isClosed;

        @Override
        public void close() {
            isClosed = true;
        }
    }
}
