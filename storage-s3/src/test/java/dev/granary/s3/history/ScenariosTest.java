package dev.granary.s3.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.CollectionPlan;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.testing.TestRuns;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Scenarios of a few machines whose requests are interleaved in all ways with a bounded number of
 * switches. Their names are those of {@code s1}, ..., in the model of the protocol. In each one the
 * ledger verifies the invariants I1 to I5 after each request.
 */
class ScenariosTest {
    private static final int RUNS = TestRuns.count(5);

    private static final String PLACE = TestEntries.TARGET.path();

    /** The number of runs with a target of 64 packs, which are slow. */
    private static final int FULL_RUNS = Math.max(1, RUNS / 4);

    private static void explore(Consumer<Scenario> scenario) {
        Scenario.explore(RUNS, scenario);
    }

    private static void exploreFull(Consumer<Scenario> scenario) {
        Scenario.explore(FULL_RUNS, run -> {
            run.place(FullTarget.FULL);
            scenario.accept(run);
        });
    }

    /** Publishes entries, each in a pack, before the actors begin. */
    private static void placePacks(Scenario run, Entry... entries) {
        for (Entry entry : entries) {
            run.before(machine -> run.publish(machine, entry));
        }
    }

    /** Notes a candidate, which is due when the actors begin. */
    private static void noteCandidate(Scenario run) {
        run.before(ScenariosTest::delete);
        run.bucket().pass(Duration.ofHours(25).toMillis());
    }

    private static void delete(Machine machine) {
        try {
            machine.process().packed().remover(PLACE).run(Machine.GRACE);
        } catch (CompactionException e) {
            // an outsider has removed what it needs
        }
    }

    private static void adopt(Machine machine) {
        try {
            long ignored = machine.process().packed().adopter(PLACE, _ -> {}).run();
        } catch (CompactionException e) {
            // other writers were faster
        }
    }

    private static Optional<String> first(Scenario run, String part) {
        return run.bucket().objects().keySet().stream()
                .filter(key -> key.contains(part))
                .findFirst();
    }

    @Test
    @DisplayName("s1: two publishers to a full head, both of which fold")
    void foldAndPublish() {
        exploreFull(run -> {
            run.actor("folder", machine -> run.publish(machine, run.entry()));
            run.actor("publisher", machine -> run.publish(machine, run.entry()));
        });
    }

    @Test
    @DisplayName("s3: a compaction while a publisher folds")
    void compactAndFold() {
        exploreFull(run -> {
            run.actor("compactor", run::compact);
            run.actor("folder", machine -> run.publish(machine, run.entry()));
        });
    }

    @Test
    @DisplayName("s3b: a compaction, a publisher who folds, and one more")
    void compactPublishAndFold() {
        exploreFull(run -> {
            run.actor("compactor", run::compact);
            run.actor("folder", machine -> run.publish(machine, run.entry()));
            run.actor("publisher", machine -> run.publish(machine, run.entry()));
        });
    }

    @Test
    @DisplayName("s5: two compactions and a deleter")
    void twoCompactions() {
        explore(run -> {
            placePacks(run, run.entry(), run.entry());
            noteCandidate(run);
            run.actor("compactor", run::compact);
            run.actor("other", run::compact);
            run.actor("deleter", ScenariosTest::delete);
        });
    }

    @Test
    @DisplayName("s6: a compaction that leaves out an id, another one, and a publisher")
    void leaveOutAndCompact() {
        explore(run -> {
            Entry left = run.entry();
            placePacks(run, left, run.entry());
            run.actor("collector", Set.of(left.id()), machine -> run.compact(machine, left.id()));
            run.actor("compactor", run::compact);
            run.actor("publisher", machine -> run.publish(machine, run.entry()));
        });
    }

    @Test
    @DisplayName("s6b: two collections, a machine that notes a use, and a publisher")
    void twoCollections() {
        CollectionPlan.Rules rules = new CollectionPlan.Rules("", 90, Long.MAX_VALUE, false);
        explore(run -> {
            Entry unused = run.entry();
            Entry noted = run.entry();
            placePacks(run, unused, noted);
            run.before(machine -> machine.note(Set.of(), "0".repeat(16)));
            run.bucket().pass(Duration.ofDays(100).toMillis());
            for (String name : List.of("collector", "other")) {
                run.actor(name, machine -> {
                    String outcome = machine.collect(rules, false);
                    run.trace(() -> "  " + name + ": " + outcome);
                });
            }
            run.actor("machine", machine -> machine.note(Set.of(noted.id()), "1".repeat(16)));
            run.actor("publisher", machine -> run.publish(machine, run.entry()));
            run.check(() ->
                    assertFalse(run.ledger().lost(Set.of(unused.id()), true).isEmpty(), "it left"));
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"LOST", "ANSWER_LOST", "LATE", "CONFLICT_LANDED", "FALSE_412"})
    @DisplayName("s7: a publisher whose swap has no answer, a compaction, and a publisher")
    void unknownSwap(Disturbance fault) {
        explore(run -> {
            placePacks(run, run.entry());
            run.fault("publisher", "REPLACE", 1, fault);
            run.actor("publisher", machine -> run.publish(machine, run.entry()));
            run.actor("compactor", run::compact);
            run.actor("other", machine -> run.publish(machine, run.entry()));
            run.outsider("late requests land", run.bucket()::land);
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"ANSWER_LOST", "LATE"})
    @DisplayName("s7: a fold whose swap has no answer, and a compaction")
    void unknownFold(Disturbance fault) {
        exploreFull(run -> {
            run.fault("folder", "REPLACE", 1, fault);
            run.actor("folder", machine -> run.publish(machine, run.entry()));
            run.actor("compactor", run::compact);
            run.outsider("late requests land", run.bucket()::land);
        });
    }

    @Test
    @DisplayName("s8: the head is removed under a deleter, and a publisher begins a new one")
    void headRemovedUnderDeleter() {
        explore(run -> {
            placePacks(run, run.entry());
            noteCandidate(run);
            run.actor("deleter", ScenariosTest::delete);
            run.actor("publisher", machine -> run.publish(machine, run.entry()));
            run.remover(() -> first(run, "/head"));
        });
    }

    @Test
    @DisplayName("s9: the head is removed under a deleter, and its packs are adopted")
    void adoptUnderDeleter() {
        explore(run -> {
            placePacks(run, run.entry());
            noteCandidate(run);
            run.actor("deleter", ScenariosTest::delete);
            run.actor("adopter", ScenariosTest::adopt);
            run.remover(() -> first(run, "/head"));
        });
    }

    @Test
    @DisplayName("s10: a pack is removed while its entry is published unpacked")
    void packRemoved() {
        explore(run -> {
            Entry entry = run.entry();
            placePacks(run, entry, run.entry());
            run.actor("publisher", machine -> run.store(machine, entry));
            run.actor("compactor", run::compact);
            run.remover(() -> first(run, "/p/"));
        });
    }

    @Test
    @DisplayName("s10b: an unsound packed copy before a sound one ends no lookup")
    void unsoundPack() {
        explore(run -> {
            Entry entry = run.entry();
            placePacks(run, entry);
            String key = first(run, "/p/").orElseThrow();
            run.ledger().beforeRemoval(key);
            run.bucket().damage(key, true, body -> {
                body[body.length / 2] ^= 1;
                return body;
            });
            run.actor("publisher", machine -> run.store(machine, entry));
            run.actor("other", machine -> run.publish(machine, entry));
        });
    }

    /** Folds an unpacked entry into a pack that is older than the grace when the actors begin. */
    private static void placeFolded(Scenario run, Entry entry) {
        run.before(machine -> run.store(machine, entry));
        run.before(run::compact);
        run.bucket().pass(Duration.ofHours(25).toMillis());
    }

    @Test
    @DisplayName("s10c: a compaction removes the unpacked copy of a packed entry while another one"
            + " leaves the entry out, and a publisher stores it again")
    void redundantCopy() {
        explore(run -> {
            Entry entry = run.entry();
            placeFolded(run, entry);
            run.actor("compactor", run::compact);
            run.actor("collector", Set.of(entry.id()), machine -> run.compact(machine, entry.id()));
            run.actor("publisher", machine -> run.store(machine, entry));
        });
    }

    @Test
    @DisplayName("s10c: a pack is removed while a compaction deletes the unpacked copy of its"
            + " entry, and a publisher finds that copy")
    void packOfCopyRemoved() {
        explore(run -> {
            Entry entry = run.entry();
            placeFolded(run, entry);
            run.actor("compactor", run::compact);
            run.actor("publisher", machine -> run.store(machine, entry));
            run.remover(() -> first(run, "/p/"));
        });
    }

    @Test
    @DisplayName("s11: the base is removed under a deleter, which keeps all packs")
    void baseRemoved() {
        explore(run -> {
            Entry entry = run.entry();
            placePacks(run, entry, run.entry());
            run.before(run::compact);
            noteCandidate(run);
            run.bucket().pass(Duration.ofDays(2).toMillis());
            run.actor("deleter", ScenariosTest::delete);
            run.actor("publisher", machine -> run.publish(machine, run.entry()));
            String compacted = run.bucket().objects().keySet().stream()
                    .filter(key -> key.contains("/p/"))
                    .max((a, b) -> a.compareTo(b))
                    .orElseThrow();
            run.remover(() -> first(run, "/m/"));
            run.check(() -> assertTrue(run.bucket().stored(compacted).isPresent()));
        });
    }

    @Test
    @DisplayName("s13: a compaction while a damaged unpacked entry is replaced")
    void repair() {
        explore(run -> {
            Entry entry = run.entry();
            run.before(machine -> run.store(machine, entry));
            String key = first(run, "/e/").orElseThrow();
            run.ledger().beforeRemoval(key);
            run.bucket().damage(key, false, body -> {
                body[body.length - 1] ^= 1;
                return body;
            });
            placePacks(run, run.entry());
            run.actor("compactor", run::compact);
            run.actor("publisher", machine -> {
                machine.process().tier().load(entry.id());
                run.store(machine, entry);
            });
        });
    }

    @Test
    @DisplayName("s15: what is left out comes back only if it is published again")
    void leaveOutUnpacked() {
        explore(run -> {
            Entry left = run.entry();
            run.before(machine -> run.store(machine, left));
            placePacks(run, run.entry());
            run.actor("collector", Set.of(left.id()), machine -> run.compact(machine, left.id()));
            run.actor("compactor", run::compact);
            run.check(() -> {
                // a compaction that began before may carry it; the next run leaves it out
                run.before(machine -> run.compact(machine, left.id()));
                assertEquals(List.of(left.id()), run.ledger().lost(Set.of(left.id()), true));
            });
        });
    }

    @Test
    @DisplayName("s15: an id is left out while it is published again")
    void leaveOutAndPublish() {
        explore(run -> {
            Entry left = run.entry();
            run.before(machine -> run.store(machine, left));
            placePacks(run, run.entry());
            run.actor("collector", Set.of(left.id()), machine -> run.compact(machine, left.id()));
            run.actor("compactor", run::compact);
            run.actor("publisher", machine -> run.store(machine, left));
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"LOST", "ANSWER_LOST", "LATE", "CONFLICT_LANDED", "FALSE_412"})
    @DisplayName("s16: a compaction whose swap has no answer, and a publisher")
    void unknownCompaction(Disturbance fault) {
        explore(run -> {
            placePacks(run, run.entry(), run.entry());
            run.fault("compactor", "REPLACE", 1, fault);
            run.actor("compactor", run::compact);
            run.actor("publisher", machine -> run.publish(machine, run.entry()));
            run.outsider("late requests land", run.bucket()::land);
        });
    }

    @Test
    @DisplayName("s17: two publishers of one entry, a compaction, and a deleter")
    void sameEntryTwice() {
        explore(run -> {
            placePacks(run, run.entry(), run.entry());
            noteCandidate(run);
            Entry entry = run.entry();
            run.actor("publisher", machine -> run.publish(machine, entry));
            run.actor("other", machine -> run.publish(machine, entry));
            run.actor("compactor", run::compact);
            run.actor("deleter", ScenariosTest::delete);
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"ANSWER_LOST", "LATE"})
    @DisplayName("s19: a full head, two publishers, and a deleter")
    void foldAndDelete(Disturbance fault) {
        exploreFull(run -> {
            noteCandidate(run);
            run.fault("publisher", "REPLACE", 1, fault);
            run.actor("publisher", machine -> run.publish(machine, run.entry()));
            run.actor("folder", machine -> run.publish(machine, run.entry()));
            run.actor("deleter", ScenariosTest::delete);
            run.outsider("late requests land", run.bucket()::land);
        });
    }

    @Test
    @DisplayName("s23: the head is removed under a deleter and a publisher, and one begins anew")
    void headRemovedUnderAll() {
        explore(run -> {
            placePacks(run, run.entry());
            noteCandidate(run);
            run.actor("deleter", ScenariosTest::delete);
            run.actor("old", machine -> run.publish(machine, run.entry()));
            run.remover(() -> first(run, "/head"));
            run.actor("new", machine -> run.publish(machine, run.entry()));
        });
    }

    @Test
    @DisplayName("s24: the head is removed under a deleter and a compaction, and packs are adopted")
    void headRemovedUnderCompaction() {
        explore(run -> {
            placePacks(run, run.entry(), run.entry());
            noteCandidate(run);
            run.actor("deleter", ScenariosTest::delete);
            run.actor("compactor", run::compact);
            run.remover(() -> first(run, "/head"));
            run.actor("adopter", ScenariosTest::adopt);
        });
    }

    @Test
    @DisplayName("the head is emptied: adoption begins a new register with all packs")
    void headEmptied() {
        explore(run -> {
            Entry entry = run.entry();
            placePacks(run, entry, run.entry());
            String head = run.ledger().keys().head();
            run.ledger().beforeRemoval(head);
            run.bucket().damage(head, false, _ -> new byte[0]);
            run.ledger().headChanged(false);
            run.actor("adopter", ScenariosTest::adopt);
            run.actor("other", ScenariosTest::adopt);
            run.actor("publisher", machine -> run.publish(machine, run.entry()));
            run.check(() -> {
                run.before(ScenariosTest::adopt);
                assertEquals(List.of(), run.ledger().lost(Set.of(entry.id()), true));
            });
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6})
    @DisplayName("a late answer after the first swap does not disprove the server's conditions")
    void staleHead(int number) {
        explore(run -> {
            placePacks(run, run.entry());
            run.fault("publisher", "GET", number, Disturbance.STALE);
            run.actor("publisher", machine -> {
                run.publish(machine, run.entry());
                assertEquals(Optional.empty(), machine.process().tier().packObstacle());
            });
        });
    }
}
