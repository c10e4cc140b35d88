package dev.granary.s3.pack.manifest;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.ERROR_500;
import static dev.granary.s3.contract.Fault.EXPIRED_403;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Sha256;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.PackManifestLog.Committed;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.StoreFailure;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.Stream;

/** Commits of manifests, with every possible response of a server and with many writers at once. */
class ManifestCommitTest {
    private static final int WRITERS = 32;
    private static final int COMMITS = 8;
    // to a time from which numbers are derived
    private static final Duration YEARS = Duration.ofDays(4 * 365);
    /** The requests of a first commit before it creates its manifest, if the hint exists. */
    private static final List<String> BEFORE = List.of("GET newest", "HEAD m1", "LIST m/");

    private final PackFixture packs = new PackFixture("ManifestCommitTest");
    private final RecordingObjectStore store = packs.store;
    private final PackManifestLog log = packs.log();
    private final PackInfo mine = PackFixture.info(packs.random(), 1);
    private final PackInfo other = PackFixture.info(packs.random(), 1);

    private Committed<?> commit(PackInfo pack) {
        return log.commit(base -> ManifestPlan.commit(base.plus(pack)));
    }

    /** Returns the outcome of the first commit when its creating requests meet {@code faults}. */
    private Committed<?> commitWith(Fault... faults) {
        store.place(PackFixture.KEYS.hint(), new byte[] {'0'}, ObjectMarks.NONE);
        store.newRequests();
        BEFORE.forEach(_ -> store.script(new Fault.None()));
        store.script(faults);
        Committed<?> committed = commit(mine);
        assertEquals(BEFORE, store.namedRequests().subList(0, BEFORE.size()));
        store.forgetScript();
        return committed;
    }

    private List<Sha256> committed() {
        return packs.newest().packs().stream().map(PackInfo::name).toList();
    }

    @Test
    @DisplayName(
            "the first commit of a target takes nine requests, and the hint is created before the"
                    + " manifest")
    void first() {
        PackManifest manifest = assertThat(commit(mine)).isDone();
        assertEquals(1, manifest.number());
        assertEquals(
                List.of(
                        "GET newest",
                        "PUT newest",
                        "GET newest",
                        "HEAD m1",
                        "LIST m/",
                        "PUT m1",
                        "GET newest",
                        "HEAD m2",
                        "REPLACE newest"),
                store.newRequests());
        assertEquals(2, assertThat(commit(other)).isDone().number());
        assertEquals(
                List.of(
                        "GET newest",
                        "HEAD m1",
                        "HEAD m2",
                        "GET m1",
                        "PUT m2",
                        "GET newest",
                        "HEAD m3",
                        "REPLACE newest"),
                store.newRequests());
        assertEquals(List.of(mine.name(), other.name()), committed());
    }

    @Test
    @DisplayName(
            "32 writers at once, 8 commits each: numbers without gaps, every pack named once, none"
                    + " lost, none undone")
    void race() throws Exception {
        CountDownLatch start = new CountDownLatch(1);
        Set<Sha256> names = new HashSet<>();
        ConcurrentLinkedQueue<Long> numbers = new ConcurrentLinkedQueue<>();
        List<Future<?>> writers = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int w = 0; w < WRITERS; w++) {
                List<PackInfo> own = new ArrayList<>();
                for (int c = 0; c < COMMITS; c++) {
                    own.add(PackFixture.info(packs.random(), 1));
                    names.add(own.getLast().name());
                }
                PackManifestLog writer = packs.log();
                writers.add(threads.submit(() -> {
                    start.await();
                    for (PackInfo pack : own) {
                        Committed<?> committed = new Committed.Failed<>("not tried yet");
                        // others were faster, too often
                        while (committed instanceof Committed.Failed) {
                            committed = writer.commit(base -> ManifestPlan.commit(base.plus(pack)));
                        }
                        numbers.add(assertThat(committed).isDone().number());
                    }
                    return null;
                }));
            }
            start.countDown();
            for (Future<?> writer : writers) {
                writer.get();
            }
        }
        int all = WRITERS * COMMITS;
        assertEquals(all, new HashSet<>(numbers).size(), "two commits have one number");
        assertEquals(all, committed().size());
        assertEquals(names, new HashSet<>(committed()));
        assertEquals(all + 1, store.keys().size());
        PackManifest before = PackManifest.NONE;
        for (long number = 1; number <= all; number++) {
            PackManifest.Read read =
                    PackManifest.decode(store.body(PackFixture.KEYS.manifest(number)));
            PackManifest manifest = assertThat(read).isOk();
            assertEquals(
                    before.packs().stream().map(PackInfo::name).toList(),
                    manifest.packs().subList(0, before.packs().size()).stream()
                            .map(PackInfo::name)
                            .toList());
            assertEquals(number, manifest.packs().getLast().since());
            before = manifest;
        }
    }

    @Test
    @DisplayName("R13 the response was lost after the commit: recognised as its own, named once")
    void responseLost() {
        for (StoreFailure failure : List.of(TIMEOUT, ERROR_500)) {
            store.keys().forEach(store::remove);
            assertEquals(
                    1,
                    assertThat(commitWith(new Fault.AnswerLost(failure)))
                            .isDone()
                            .number());
            assertEquals(
                    List.of(
                            "PUT m1",
                            "PUT m1",
                            "GET m1",
                            "GET newest",
                            "HEAD m2",
                            "REPLACE newest"),
                    store.namedRequests().subList(3, 9));
            assertEquals(List.of(mine.name()), committed());
        }
    }

    @Test
    @DisplayName(
            "R13 the request was lost before the commit: sent again, named once; every response"
                    + " lost: still recognised")
    void requestLost() {
        assertThat(commitWith(new Fault.Lost(TIMEOUT), new Fault.Lost(ERROR_500)))
                .isDone();
        assertEquals(List.of(mine.name()), committed());
        store.keys().forEach(store::remove);
        assertThat(commitWith(
                        new Fault.Lost(TIMEOUT),
                        new Fault.Lost(TIMEOUT),
                        new Fault.AnswerLost(TIMEOUT)))
                .isDone();
        assertEquals(List.of(mine.name()), committed());
    }

    @Test
    @DisplayName(
            "R14 the response was lost, and another writer commits on top: recognised, and both"
                    + " are named")
    void responseLostThenAnother() {
        Fault onTop = new Fault.AnswerLostThen(TIMEOUT, () -> {
            store.forgetScript();
            assertThat(packs.log().commit(base -> ManifestPlan.commit(base.plus(other))))
                    .isDone();
        });
        assertThat(commitWith(onTop)).isDone();
        assertEquals(List.of(mine.name(), other.name()), committed());
    }

    @Test
    @DisplayName(
            "R2 another writer took the number (412), or is about to (409): planned again on top"
                    + " of it")
    void overtaken() {
        Fault first = new Fault.Meanwhile(
                () -> assertThat(packs.log().commit(base -> ManifestPlan.commit(base.plus(other))))
                        .isDone());
        assertEquals(2, assertThat(commitWith(first)).isDone().number());
        assertEquals(List.of(other.name(), mine.name()), committed());
        store.keys().forEach(store::remove);
        assertEquals(
                1,
                assertThat(commitWith(new Fault.Conflicting(Fault.Moment.BEFORE)))
                        .isDone()
                        .number());
        assertEquals(List.of(mine.name()), committed());
    }

    @Test
    @DisplayName(
            "R13 the response was lost, and the next attempt conflicts with it: recognised as its"
                    + " own, without another plan")
    void conflictWithMyself() {
        int[] plans = {0};
        commitWith(); // so that there is a manifest before
        store.script(new Fault.None(), new Fault.None(), new Fault.None(), new Fault.None());
        store.script(new Fault.AnswerLost(TIMEOUT), new Fault.Conflicting(Fault.Moment.BEFORE));
        Committed<?> committed = log.commit(base -> {
            plans[0]++;
            return base.packs().stream().anyMatch(pack -> pack.name().equals(other.name()))
                    ? ManifestPlan.nothing()
                    : ManifestPlan.commit(base.plus(other));
        });
        assertEquals(2, assertThat(committed).isDone().number());
        assertEquals(1, plans[0]);
        assertEquals(List.of(mine.name(), other.name()), committed());
    }

    @Test
    @DisplayName("B3 a manifest lands after another plan: the outcome has the finding of its own"
            + " plan")
    void findingOfTheLandedPlan() {
        store.place(PackFixture.KEYS.hint(), new byte[] {'0'}, ObjectMarks.NONE);
        BEFORE.forEach(_ -> store.script(new Fault.None()));
        store.script(new Fault.PreconditionFailed(Fault.Moment.BEFORE));
        List<PackManifest> plans = new ArrayList<>();
        Committed<Integer> committed = log.commit(base -> {
            if (!plans.isEmpty()) {
                store.place(
                        PackFixture.KEYS.manifest(plans.getFirst().number()),
                        plans.getFirst().encode(),
                        ObjectMarks.NONE);
            }
            plans.add(base.plus(plans.isEmpty() ? mine : other));
            return new ManifestPlan.Commit<>(plans.getLast(), plans.size());
        });
        assertEquals(2, plans.size());
        assertEquals(new Committed.Done<>(plans.getFirst(), 1), committed);
        assertEquals(List.of(mine.name()), committed());
    }

    @Test
    @DisplayName(
            "B3 409 or 412 to a manifest that has landed: recognised as its own, without another"
                    + " plan")
    void landedAllTheSame() {
        for (Fault fault : List.of(
                new Fault.Conflicting(Fault.Moment.AFTER),
                new Fault.PreconditionFailed(Fault.Moment.AFTER))) {
            store.keys().forEach(store::remove);
            store.place(PackFixture.KEYS.hint(), new byte[] {'0'}, ObjectMarks.NONE);
            BEFORE.forEach(_ -> store.script(new Fault.None()));
            store.script(fault);
            int[] plans = {0};
            Committed<?> committed = log.commit(base -> {
                plans[0]++;
                return ManifestPlan.commit(base.plus(mine));
            });
            assertEquals(1, assertThat(committed).isDone().number());
            assertEquals(1, plans[0]);
            assertEquals(List.of(mine.name()), committed());
        }
    }

    @Test
    @DisplayName("R3 a refusal is a failure, at any request that needs a response, and nothing is"
            + " committed")
    void refused() {
        // the one between reads the hint once more, and may fail
        for (int at : List.of(1, 3, 4, 5)) {
            for (int before = 0; before < at; before++) {
                store.script(new Fault.None());
            }
            store.script(new Fault.Lost(EXPIRED_403));
            Committed<?> committed = commit(mine);
            assertTrue(
                    assertThat(committed).isFailed().contains("ExpiredToken"), committed::toString);
            store.keys().forEach(store::remove);
        }
    }

    @Test
    @DisplayName(
            "no response to any attempt: unknown, not a failure; a request that was never sent: a"
                    + " failure")
    void neverAnswered() {
        Fault lost = new Fault.Lost(TIMEOUT);
        assertThat(commitWith(lost, lost, lost, lost)).isUnknown();
        assertThat(commitWith(lost, lost, lost)).isUnknown();
        assertThat(commitWith(
                        lost,
                        new Fault.Lost(StoreFailure.of(StoreFailure.Kind.SUSPENDED, "left alone"))))
                .isUnknown();
        assertThat(commitWith(lost, new Fault.Lost(DENIED))).isUnknown();
        assertThat(commitWith(
                        new Fault.Lost(StoreFailure.of(StoreFailure.Kind.SUSPENDED, "left alone"))))
                .isFailed();
        assertEquals(List.of(), committed());
        assertThat(commitWith(new Fault.AnswerLost(TIMEOUT), lost, lost, lost)).isUnknown();
        assertEquals(List.of(mine.name()), committed());
    }

    @Test
    @DisplayName(
            "no response to any attempt, and the number proves to be another's: planned again on"
                    + " top")
    void neverAnsweredAndOvertaken() {
        Fault lost = new Fault.Lost(TIMEOUT);
        Fault another = new Fault.Meanwhile(() -> {
            store.forgetScript();
            assertThat(packs.log().commit(base -> ManifestPlan.commit(base.plus(other))))
                    .isDone();
        });
        assertEquals(
                2, assertThat(commitWith(lost, lost, lost, another)).isDone().number());
        assertEquals(List.of(other.name(), mine.name()), committed());
    }

    @Test
    @DisplayName("a plan without changes writes nothing")
    void nothingToDo() {
        assertThat(commit(mine)).isDone();
        int keys = store.keys().size();
        assertThat(log.commit(_ -> ManifestPlan.nothing())).isOvertaken();
        assertEquals(keys, store.keys().size());
    }

    @Test
    @DisplayName("other writers are always faster: given up after twenty plans, with that cause")
    void alwaysOvertaken() {
        int[] plans = {0};
        Committed<?> committed = log.commit(base -> {
            plans[0]++;
            assertThat(packs.log()
                            .commit(newer -> ManifestPlan.commit(
                                    newer.plus(PackFixture.info(packs.random(), 1)))))
                    .isDone();
            return ManifestPlan.commit(base.plus(mine));
        });
        assertThat(committed).isFailed();
        assertEquals(20, plans[0]);
        assertEquals(20, committed().size());
    }

    /** Removes everything, as a lifecycle rule does, and starts another chain of two manifests. */
    private void restart() {
        store.pass(Duration.ofDays(100));
        store.keys().forEach(store::remove);
        commitOthers();
        commitOthers();
    }

    private void commitOthers() {
        assertThat(packs.log()
                        .commit(base -> ManifestPlan.commit(
                                base.plus(PackFixture.info(packs.random(), 1)))))
                .isDone();
    }

    /**
     * Commits while everything is removed after the first plan, so that the first manifest is
     * created beside another chain; then runs {@code later} plans.
     */
    private Committed<?> commitBesideAnotherChain(
            Function<PackManifest, ManifestPlan<ManifestPlan.NoFinding>> later) {
        store.pass(YEARS);
        commitOthers();
        int[] plans = {0};
        return log.commit(base -> {
            if (plans[0]++ > 0) {
                return later.apply(base);
            }
            restart();
            return ManifestPlan.commit(base.plus(mine));
        });
    }

    @Test
    @DisplayName(
            "B4 a manifest of the commit exists beside another chain, and other writers are faster"
                    + " from then on: unknown, not a failure")
    void unreachableAndOvertaken() {
        Committed<?> committed = commitBesideAnotherChain(base -> {
            commitOthers();
            return ManifestPlan.commit(base.plus(mine));
        });
        assertTrue(assertThat(committed).isUnknown().contains("faster"), committed::toString);
        assertEquals(2 + 19, committed().size());
    }

    @Test
    @DisplayName(
            "B4 a manifest of the commit exists beside another chain, and later plans fail or have"
                    + " no changes: unknown")
    void unreachableAndGivenUp() {
        assertThat(commitBesideAnotherChain(_ -> ManifestPlan.nothing())).isUnknown();
        PackInfo one = PackFixture.info(packs.random(), 1);
        List<PackInfo> tooMany = Stream.generate(() -> new PackInfo(
                        PackFixture.hash(packs.random()),
                        one.bytes(),
                        one.indexOffset(),
                        PackInfo.MAX_ENTRIES,
                        0,
                        one.filter()))
                .limit(PackManifest.MAX_ENTRIES / PackInfo.MAX_ENTRIES + 1L)
                .toList();
        assertThat(commitBesideAnotherChain(base -> ManifestPlan.commit(
                        base.replacing(Set.of(), tooMany, base.unpackedEntries()))))
                .isUnknown();
    }

    @Test
    @DisplayName("B4 a manifest with unknown outcome, whose chain is gone: it may still land, so"
            + " unknown, not a failure")
    void undecidedAndOvertaken() {
        store.pass(YEARS);
        commitOthers();
        assertThat(commitUnheard(
                        1, this::restart, new Fault.PreconditionFailed(Fault.Moment.BEFORE)))
                .isUnknown();
    }

    @Test
    @DisplayName("two manifests of different numbers with unknown outcomes: if the number of one is"
            + " taken, the other is still unknown")
    void twoUndecided() {
        commitOthers();
        byte[] hint = store.body(PackFixture.KEYS.hint());
        commitOthers();
        store.place(PackFixture.KEYS.hint(), hint, ObjectMarks.NONE);
        int[] pauses = {0};
        PackManifestLog unanswered =
                new PackManifestLog(store, PackFixture.KEYS, packs.random(), _ -> {
                    switch (pauses[0]++) {
                        case 0 -> store.remove(PackFixture.KEYS.manifest(2));
                        case 1 -> commitOthers();
                        default -> {}
                    }
                });
        List<Long> bases = new ArrayList<>();
        Committed<?> committed = unanswered.commit(base -> {
            bases.add(base.number());
            if (bases.size() <= 2) {
                store.script(new Fault.PreconditionFailed(Fault.Moment.BEFORE));
            } else {
                commitOthers();
            }
            return ManifestPlan.commit(base.plus(mine));
        });
        assertEquals(List.of(2L, 1L, 2L), bases.subList(0, 3));
        assertThat(committed).isUnknown();
    }

    /**
     * Commits with unknown outcomes of the first manifests, then runs {@code meanwhile}; other
     * writers are faster from then on.
     */
    private Committed<?> commitUnheard(int withUnknownOutcome, Runnable meanwhile, Fault... each) {
        int[] pauses = {0};
        PackManifestLog unanswered =
                new PackManifestLog(store, PackFixture.KEYS, packs.random(), _ -> {
                    if (++pauses[0] == withUnknownOutcome) {
                        meanwhile.run();
                    }
                });
        int[] plans = {0};
        return unanswered.commit(base -> {
            if (plans[0]++ < withUnknownOutcome) {
                store.script(each);
            } else {
                commitOthers();
            }
            return ManifestPlan.commit(base.plus(mine));
        });
    }

    @Test
    @DisplayName(
            "a manifest with unknown outcome has landed, and a gap separates it from the newest"
                    + " one: unknown, not a failure")
    void landedBeforeGap() {
        commitOthers();
        Committed<?> committed = commitUnheard(
                1,
                () -> {
                    commitOthers();
                    commitOthers();
                    store.remove(PackFixture.KEYS.manifest(3));
                },
                new Fault.PreconditionFailed(Fault.Moment.AFTER),
                new Fault.Changed(Fault.Change.LONGER));
        assertTrue(store.keys().contains(PackFixture.KEYS.manifest(2)));
        assertThat(committed).isUnknown();
    }

    @Test
    @DisplayName(
            "a manifest with unknown outcome whose number is another's: it cannot land any more,"
                    + " so a failure")
    void decidedMeanwhile() {
        commitOthers();
        for (int withUnknownOutcome = 1; withUnknownOutcome <= 2; withUnknownOutcome++) {
            assertThat(commitUnheard(
                            withUnknownOutcome,
                            this::commitOthers,
                            new Fault.PreconditionFailed(Fault.Moment.BEFORE)))
                    .isFailed();
        }
    }

    @Test
    @DisplayName("a hint that cannot be advanced costs requests, no commit")
    void hintStaysBehind() {
        for (int i = 0; i < 20; i++) {
            assertThat(commit(PackFixture.info(packs.random(), 1))).isDone();
            store.place(PackFixture.KEYS.hint(), new byte[] {'0'}, ObjectMarks.NONE);
        }
        assertEquals(20, committed().size());
    }
}
