package dev.granary.cache.contract;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.support.ClaimStore;
import dev.granary.cache.support.ClaimStore.Claim;
import dev.granary.cache.support.ClaimStore.Result;
import dev.granary.testing.Race;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Contract suite of the claims of machines on the absent entries of a store. */
public abstract class ClaimStoreContract {
    private static final int MACHINES = 16;
    private static final Duration EXPECTED = Duration.ofMillis(1234);

    private final TestEntries entries = new TestEntries(getClass().getName());
    private final Id id = entries.id();
    private final List<PersistentCache> opened = new ArrayList<>();

    /** Opens the store as another machine does. */
    protected abstract PersistentCache openCache();

    /** Returns the claims of an opened store. */
    protected abstract ClaimStore claims(PersistentCache opened);

    private ClaimStore machine() {
        PersistentCache cache = openCache();
        opened.add(cache);
        return claims(cache);
    }

    private static Claim claim(int number) {
        return new Claim("%016x".formatted(number), EXPECTED, Claim.State.COMPILING);
    }

    private Result.Taken read() {
        return assertInstanceOf(Result.Taken.class, machine().read(id));
    }

    @AfterEach
    void close() {
        opened.forEach(PersistentCache::close);
    }

    /** Checks that one machine has won, and that the others see its claim. */
    private int winner(List<Result> results) {
        List<Integer> winners = new ArrayList<>();
        for (int i = 0; i < results.size(); i++) {
            if (results.get(i) instanceof Result.Mine) {
                winners.add(i);
            }
        }
        assertEquals(1, winners.size(), results::toString);
        Claim claim = claim(winners.getFirst());
        for (Result result : results) {
            if (!(result instanceof Result.Mine)) {
                assertEquals(claim, assertInstanceOf(Result.Taken.class, result).claim());
            }
        }
        assertEquals(claim, read().claim());
        return winners.getFirst();
    }

    @Test
    @DisplayName("One of many machines gets the claim, and the others see its content")
    void claimed() throws Exception {
        List<ClaimStore> machines = machines();
        winner(Race.run(MACHINES, i -> machines.get(i).claim(id, claim(i))));
    }

    private List<ClaimStore> machines() {
        List<ClaimStore> machines = new ArrayList<>();
        for (int i = 0; i < MACHINES; i++) {
            machines.add(machine());
        }
        return machines;
    }

    @Test
    @DisplayName("One of many machines takes a claim over, and after that one of many the new one")
    void takenOver() throws Exception {
        machine().claim(id, claim(MACHINES));
        List<ClaimStore> machines = machines();
        for (int round = 0; round < 5; round++) {
            Result.Taken old = read();
            winner(Race.run(MACHINES, i -> machines.get(i).takeOver(id, old, claim(i))));
            assertNotEquals(old.version(), read().version());
        }
    }

    @Test
    @DisplayName("A request for a claim that its machine has already is answered with it")
    void again() {
        ClaimStore machine = machine();
        Result mine = machine.claim(id, claim(1));
        assertEquals(mine, machine.claim(id, claim(1)));
        Result.Taken old = read();
        Result other = machine().takeOver(id, old, claim(2));
        assertInstanceOf(Result.Mine.class, other);
        assertEquals(other, machine().takeOver(id, old, claim(2)));
    }

    @Test
    @DisplayName("A failed compile is seen, and its claim can be taken over")
    void failed() {
        ClaimStore machine = machine();
        Result.Mine mine = assertInstanceOf(Result.Mine.class, machine.claim(id, claim(1)));
        machine.fail(id, mine, claim(1));
        assertEquals(claim(1).failed(), read().claim());
        assertInstanceOf(Result.Mine.class, machine().takeOver(id, read(), claim(2)));
        assertEquals(claim(2), read().claim());
    }

    @Test
    @DisplayName("The failure of a machine does not affect the claim of the one that took over")
    void failedLate() {
        ClaimStore machine = machine();
        Result.Mine mine = assertInstanceOf(Result.Mine.class, machine.claim(id, claim(1)));
        machine().takeOver(id, read(), claim(2));
        machine.fail(id, mine, claim(1));
        assertEquals(claim(2), read().claim());
    }

    @Test
    @DisplayName("A claim of another machine has an age of a few seconds, or an unknown one")
    void age() {
        machine().claim(id, claim(1));
        Result.Taken taken = assertInstanceOf(Result.Taken.class, machine().claim(id, claim(2)));
        Duration age = taken.age().orElse(Duration.ZERO);
        assertFalse(age.isNegative());
        assertTrue(age.compareTo(Duration.ofMinutes(1)) < 0, age::toString);
    }

    @Test
    @DisplayName("An entry is found at once by a machine that has just seen its absence")
    void polled() {
        Entry entry = entries.entry(id, 1000);
        PersistentCache waiting = openCache();
        opened.add(waiting);
        ClaimStore claims = claims(waiting);
        assertThat(waiting.load(id)).isAbsent();
        assertThat(claims.poll(id)).isAbsent();
        PersistentCache holder = openCache();
        opened.add(holder);
        assertThat(holder.store(entry)).isStored();
        assertThat(claims.poll(id)).isHitOf(entry);
    }

    @Test
    @DisplayName("Without a claim there is none to read, and reading creates none")
    void unclaimed() {
        assertInstanceOf(Result.Unavailable.class, machine().read(id));
        assertInstanceOf(Result.Mine.class, machine().claim(id, claim(1)));
        assertInstanceOf(Result.Unavailable.class, machine().read(entries.id()));
    }
}
