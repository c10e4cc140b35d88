package dev.granary.s3.pack.manifest;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Sha256;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.ForwardingStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.WithoutListing;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.LongStream;

/**
 * Manifests that are searched and committed while others change the bucket, or while a response is
 * wrong. No writer uses an older one, and no success is false.
 */
class ManifestRepairTest {
    // to a time from which numbers are derived
    private static final Duration YEARS = Duration.ofDays(4 * 365);

    private final PackFixture packs = new PackFixture("ManifestRepairTest");
    private final RecordingObjectStore store = packs.store;
    private final List<Long> bases = new ArrayList<>(); // the bases of the plans

    private static String key(long number) {
        return PackFixture.KEYS.manifest(number);
    }

    private void hint(long number) {
        store.place(PackFixture.KEYS.hint(), ManifestHint.encode(number), ObjectMarks.NONE);
    }

    private PackManifest place(long number) {
        return place(new PackManifest(
                number,
                PackManifest.UnpackedEntries.POSSIBLE,
                List.of(PackFixture.info(packs.random(), 1)),
                List.of()));
    }

    private PackManifest place(PackManifest manifest) {
        byte[] body = manifest.encode();
        store.place(
                key(manifest.number()),
                body,
                new ObjectMarks("00".repeat(16), Sha256.of(body).hex()));
        return manifest;
    }

    /** Creates manifests 1 to {@code count}, and the hint. */
    private PackManifest chain(int count) {
        hint(count);
        return LongStream.rangeClosed(1, count)
                .mapToObj(this::place)
                .reduce((_, last) -> last)
                .orElse(PackManifest.NONE);
    }

    /** Damages a manifest in the bucket. */
    private void damage(long number) {
        store.place(key(number), new byte[77], new ObjectMarks("00".repeat(16), ""));
    }

    private void damage(long first, long last) {
        LongStream.rangeClosed(first, last).forEach(this::damage);
    }

    private void clear() {
        store.keys().forEach(store::remove);
    }

    private PackManifest newest(ObjectStore over, PackManifest known) {
        PackManifestLog.Newest newest = packs.log(over).newest(known);
        return assertThat(newest).isFound();
    }

    private static List<Sha256> names(PackManifest manifest) {
        return manifest.packs().stream().map(PackInfo::name).toList();
    }

    private PackManifestLog log(ObjectStore over, Consumer<Duration> pause) {
        return new PackManifestLog(over, PackFixture.KEYS, packs.random(), pause);
    }

    /** Commits one more pack; each pause runs an action. */
    private PackManifestLog.Committed<?> commit(ObjectStore over, Runnable inPause) {
        PackInfo pack = PackFixture.info(packs.random(), 1);
        return log(over, _ -> inPause.run()).commit(base -> {
            bases.add(base.number());
            return ManifestPlan.commit(base.plus(pack));
        });
    }

    private PackManifestLog.Committed<?> commit(ObjectStore over) {
        return commit(over, () -> {});
    }

    /**
     * Changes the responses to reads of one object. The function gets the number of the read, from
     * 1, and the sound response.
     */
    private ObjectStore answering(
            String changed, BiFunction<Integer, GetResult, GetResult> change) {
        AtomicInteger reads = new AtomicInteger();
        return new ForwardingStore(store) {
            @Override
            public GetResult get(String key, long limit) {
                GetResult sound = super.get(key, limit);
                return key.equals(changed) ? change.apply(reads.incrementAndGet(), sound) : sound;
            }
        };
    }

    private static GetResult bytes(byte... bytes) {
        return new GetResult.Found(MemorySegment.ofArray(bytes), "e", ObjectMarks.NONE);
    }

    /**
     * Changes the responses to the creation of one manifest; the function gets the number of the
     * attempt, from 1.
     */
    private ObjectStore creating(long number, Function<Integer, Optional<WriteResult>> answer) {
        return creating(store, number, answer);
    }

    private static ObjectStore creating(
            ObjectStore to, long number, Function<Integer, Optional<WriteResult>> answer) {
        AtomicInteger attempts = new AtomicInteger();
        return new ForwardingStore(to) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                return key.equals(key(number))
                        ? answer.apply(attempts.incrementAndGet())
                                .orElseGet(() -> super.putIfAbsent(key, body, marks))
                        : super.putIfAbsent(key, body, marks);
            }
        };
    }

    /** The creation of manifest 3 returns 409 once, and nothing of it lands. */
    private ObjectStore conflictOnce() {
        return creating(
                3, attempt -> attempt == 1 ? Optional.of(WriteResult.CONFLICT) : Optional.empty());
    }

    private Runnable once(Runnable event) {
        AtomicInteger times = new AtomicInteger();
        return () -> {
            if (times.getAndIncrement() == 0) {
                event.run();
            }
        };
    }

    private Runnable onRequest(String note, Runnable event) {
        Runnable once = once(event);
        return () -> {
            if (store.namedRequests().getLast().equals(note)) {
                once.run();
            }
        };
    }

    private void silence(Predicate<String> keys) {
        store.plan(FaultPlan.when(request -> keys.test(request.key()), new Fault.Lost(TIMEOUT)));
    }

    @Test
    @DisplayName("B8 a known manifest is the newest one only if the hint is not later, and the next"
            + " number is free")
    void isNewest() throws Exception {
        PackManifest two = chain(2);
        assertTrue(packs.log().isNewest(two));
        assertFalse(packs.log().isNewest(PackManifest.NONE));
        PackManifest three = place(3);
        assertFalse(packs.log().isNewest(two));
        store.remove(key(3));
        hint(3);
        assertFalse(packs.log().isNewest(two));
        clear();
        assertTrue(packs.log().isNewest(PackManifest.NONE));
        assertFalse(packs.log().isNewest(three), "without a hint there is none");
        store.pass(YEARS);
        hint(0);
        assertTrue(packs.log().isNewest(PackManifest.NONE));
        assertTrue(assertThat(commit(store)).isDone().number() > 1_000_000);
    }

    @Test
    @DisplayName(
            "B4 a first manifest whose hint is not advanced yet is found as the newest one by all"
                    + " new readers")
    void firstWithoutAdvancedHint() throws Exception {
        store.pass(YEARS);
        silenceReplacing();
        assertThat(commit(store)).isDone();
        store.plan(FaultPlan.SOUND);
        assertEquals("0", hintText());
        assertFalse(packs.log().isNewest(PackManifest.NONE));
        assertEquals(
                1,
                newest(new PackManifestLogTest.LookupStore(store), PackManifest.NONE)
                        .packs()
                        .size(),
                "lookups do not list");
    }

    /** The hint cannot be replaced; all other writes succeed. */
    private void silenceReplacing() {
        store.plan(FaultPlan.when(
                request -> request.key().equals(PackFixture.KEYS.hint())
                        && request.operation().startsWith("PUT match"),
                new Fault.Lost(DENIED)));
    }

    @Test
    @DisplayName("B4 all objects but the hint were removed, and its number is larger than the time:"
            + " numbers continue from it")
    void onlyTheHint() {
        hint(9);
        assertEquals(10, assertThat(commit(store)).isDone().number());
    }

    @Test
    @DisplayName("B4 a hint with an impossible number is ignored: the next manifest gets the next"
            + " number")
    void hintBeyondAllNumbers() {
        chain(3);
        store.place(
                PackFixture.KEYS.hint(), "9999999999999999".getBytes(US_ASCII), ObjectMarks.NONE);
        assertEquals(4, assertThat(commit(store)).isDone().number());
        assertEquals(4, newest(store, PackManifest.NONE).number());
    }

    @Test
    @DisplayName("one wrong response for the hint, or for the newest manifest: a lookup sends the"
            + " request again, and finds all")
    void readerRetries() {
        PackManifest last = chain(3);
        store.pass(YEARS);
        hint(3);
        for (String wrong : List.of(PackFixture.KEYS.hint(), key(3))) {
            ObjectStore garbling = answering(
                    wrong,
                    (read, sound) -> read == 1 && sound instanceof GetResult.Found found
                            ? new GetResult.Found(
                                    MemorySegment.ofArray(new byte[] {'x'}),
                                    found.etag(),
                                    found.dates(),
                                    found.marks())
                            : sound);
            assertEquals(
                    names(last),
                    names(newest(new PackManifestLogTest.LookupStore(garbling), PackManifest.NONE)),
                    wrong);
        }
    }

    @Test
    @DisplayName(
            "D6 the newest manifest is damaged, and so is the one that a reader knows by now: it"
                    + " retains what it knows, and nothing older")
    void knownOneDamagedSince() {
        chain(1);
        PackManifest known = place(2);
        hint(2);
        damage(2);
        damage(3);
        assertEquals(names(known), names(newest(store, known)));
    }

    @Test
    @DisplayName(
            "D6 B2 the newest manifest is damaged, the one before it gone, and absent is 403: the"
                    + " last sound one counts for readers and writers")
    void damagedAndGone() {
        PackManifest first = chain(1);
        place(2);
        damage(3);
        hint(3);
        store.remove(key(2));
        PackManifest read = newest(new WithoutListing(store), PackManifest.NONE);
        assertEquals(names(first), names(read));
        PackManifest committed = assertThat(commit(store)).isDone();
        assertEquals(4, committed.number());
        assertTrue(names(committed).containsAll(names(first)));
        assertThat(commit(new WithoutListing(store))).isDone();
    }

    @Test
    @DisplayName("D6 A3 all manifests are damaged: a writer restarts under the next number, and a"
            + " remover takes no pack for an orphan")
    void allDamaged() {
        chain(1);
        damage(1);
        PackManifestLog.Newest whole = packs.log().confirmedWhole();
        assertTrue(assertThat(whole).isUnavailable().contains("damaged"));
        assertEquals(2, assertThat(commit(store)).isDone().number());
    }

    @Test
    @DisplayName(
            "D6 A3 the last seven manifests are damaged, and the one before is sound, or gone, or"
                    + " damaged: it counts, or none does, or it is unknown")
    void manyDamaged() {
        PackManifest second = chain(2);
        chain(9);
        place(second);
        damage(3, 9);
        assertTrue(names(assertThat(commit(store)).isDone()).containsAll(names(second)));
        store.remove(key(10));
        hint(9);
        store.remove(key(2));
        assertThat(packs.log().confirmedWhole()).isUnavailable();
        assertEquals(1, assertThat(commit(store)).isDone().packs().size());
        store.remove(key(10));
        hint(9);
        damage(2);
        String cause = assertThat(commit(store)).isFailed();
        assertTrue(cause.contains(key(9)) && cause.contains("remove them to begin anew"), cause);
    }

    @Test
    @DisplayName(
            "B4 responses for the newest manifest differ each time, or are empty, or once wrong"
                    + " and then absent: no writer uses an older one")
    void wrongAnswers() {
        PackManifest last = chain(2);
        byte[] sound = last.encode();
        BiFunction<Integer, GetResult, GetResult> differently = (read, _) -> {
            byte[] bytes = sound.clone();
            bytes[20 + read] ^= 1;
            return bytes(bytes);
        };
        BiFunction<Integer, GetResult, GetResult> thenAbsent = (read, _) ->
                read % 3 == 1 ? differently.apply(read, GetResult.ABSENT) : GetResult.ABSENT;
        for (BiFunction<Integer, GetResult, GetResult> wrong :
                List.<BiFunction<Integer, GetResult, GetResult>>of(
                        differently, (_, _) -> bytes(), thenAbsent)) {
            assertThat(commit(answering(key(2), wrong))).isFailed();
            assertThat(packs.log(answering(key(2), wrong)).confirmed()).isUnavailable();
        }
        assertEquals(names(last), names(newest(store, PackManifest.NONE)));
    }

    @Test
    @DisplayName(
            "D6 a manifest above the size limit is damaged in the bucket: the one before it counts")
    void tooLong() {
        PackManifest first = chain(1);
        place(2);
        hint(2);
        ObjectStore long2 =
                new ForwardingStore(answering(
                        key(2), (_, _) -> new GetResult.TooLarge(PackManifest.MAX_BYTES))) {
                    @Override
                    public HeadResult head(String key) {
                        return super.head(key) instanceof HeadResult.Found found
                                        && key.equals(key(2))
                                ? new HeadResult.Found(
                                        PackManifest.MAX_BYTES + 1,
                                        found.etag(),
                                        found.dates(),
                                        found.marks())
                                : super.head(key);
                    }
                };
        PackManifest committed = assertThat(commit(long2)).isDone();
        assertEquals(3, committed.number());
        assertTrue(names(committed).containsAll(names(first)));
    }

    @Test
    @DisplayName(
            "B5 the hint names a missing manifest, and a listing lags: manifests found without it"
                    + " count, also after the last eight")
    void laggingListing() {
        PackManifest last = chain(7);
        hint(9);
        ObjectStore blind = new ForwardingStore(store) {
            @Override
            public ListResult list(String prefix, Consumer<Listed> visitor) {
                return new ListResult.Complete(0);
            }
        };
        assertEquals(names(last), names(newest(blind, PackManifest.NONE)));
        LongStream.rangeClosed(20, 28).forEach(this::place);
        LongStream.rangeClosed(40, 48).forEach(this::place);
        hint(99);
        assertEquals(48, newest(store, PackManifest.NONE).number(), "of a listing the last ones");
    }

    @Test
    @DisplayName("A3 M7 a manifest between the hint and the newest one is gone: nothing is removed")
    void gapBehindTheHint() {
        chain(5);
        hint(2);
        store.remove(key(3));
        PackManifest newest = place(6);
        assertFalse(leadsTo(newest.number()));
        store.remove(PackFixture.KEYS.hint());
        assertThat(packs.log().confirmedWhole()).isUnavailable();
    }

    private boolean leadsTo(long number) {
        try {
            PackManifestChain chain = new PackManifestChain(store, PackFixture.KEYS, _ -> {});
            return chain.leadsTo(number, chain.hint().orElseThrow());
        } catch (UnknownStateException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @DisplayName("B4 everything is removed while a writer waits for its next attempt: it builds on"
            + " nothing that it knew")
    void emptiedBetweenAttempts() {
        chain(2);
        PackManifest committed = assertThat(commit(
                        conflictOnce(), once(() -> List.of(key(1), key(2)).forEach(store::remove))))
                .isDone();
        assertEquals(1, committed.packs().size());
        assertEquals(List.of(2L, 2L), bases, "the number goes on from the hint");
    }

    @Test
    @DisplayName(
            "B4 the newest manifest vanishes while it is read: the one before it counts under its"
                    + " own number")
    void vanishesWhileRead() {
        chain(3);
        hint(2);
        store.beforeEach(onRequest("GET m3", () -> store.remove(key(3))));
        PackManifest committed = assertThat(commit(store)).isDone();
        assertEquals(List.of(2L), bases);
        assertEquals(3, committed.number());
    }

    @Test
    @DisplayName("B5 repairing the hint succeeds only if lookups then reach the manifest")
    void repairHint() {
        PackManifest last = chain(3);
        assertTrue(packs.log().repairHint(last));
        hint(1);
        assertTrue(packs.log().repairHint(last));
        assertEquals("3", hintText());
        store.remove(key(3));
        hint(2);
        assertFalse(packs.log().repairHint(last), "it is gone");
        place(last);
        silence(PackFixture.KEYS.hint()::equals);
        assertFalse(packs.log().repairHint(last), "unknown");
        store.remove(PackFixture.KEYS.hint());
        store.plan(FaultPlan.when(
                request -> request.key().equals(PackFixture.KEYS.hint())
                        && request.operation().startsWith("PUT"),
                new Fault.Lost(DENIED)));
        assertFalse(packs.log().repairHint(last), "it cannot be written");
    }

    private String hintText() {
        return new String(store.body(PackFixture.KEYS.hint()), US_ASCII);
    }

    @Test
    @DisplayName(
            "B4 B5 B8 a missing hint is written for the manifest that a listing leads to, or its"
                    + " base, and for no other chain and no sealed manifest")
    void repairGoneHint() {
        PackManifest known = place(201);
        place(202);
        assertTrue(packs.log().repairHint(known));
        store.remove(PackFixture.KEYS.hint());
        store.remove(key(202));
        place(300);
        assertFalse(packs.log().repairHint(known), "another chain");
        assertFalse(store.keys().contains(PackFixture.KEYS.hint()));
        store.remove(key(300));
        PackManifest sealed = place(
                new PackManifest(201, PackManifest.UnpackedEntries.NONE, known.packs(), List.of()));
        assertFalse(
                packs.log().repairHint(sealed), "unpacked entries may have been stored meanwhile");
        assertFalse(store.keys().contains(PackFixture.KEYS.hint()));
    }

    @Test
    @DisplayName(
            "B5 a rule has removed the manifest of the hint and some later ones: commits continue"
                    + " from the newest, and lookups follow")
    void takenInBetween() {
        hint(5);
        PackManifest earlier = place(6);
        PackInfo pack = PackFixture.info(packs.random(), 1);
        place(new PackManifest(
                9, PackManifest.UnpackedEntries.POSSIBLE, earlier.plus(pack).packs(), List.of()));
        assertEquals(
                6,
                newest(new PackManifestLogTest.LookupStore(store), PackManifest.NONE)
                        .number());
        PackManifest committed = assertThat(commit(store)).isDone();
        assertEquals(10, committed.number());
        assertEquals(List.of(9L), bases);
        assertTrue(names(committed).contains(pack.name()));
        assertEquals(
                names(committed),
                names(newest(new PackManifestLogTest.LookupStore(store), PackManifest.NONE)));
    }

    @Test
    @DisplayName("B4 the hint names a missing manifest, the next one began anew, and an earlier one"
            + " exists: lookups are not led back to it")
    void leftFromEarlierChain() {
        hint(5);
        PackManifest anew = place(6);
        PackManifest before = place(10);
        assertFalse(packs.log().repairHint(before));
        assertEquals("5", hintText());
        assertEquals(
                names(anew),
                names(newest(new PackManifestLogTest.LookupStore(store), PackManifest.NONE)));
        assertFalse(commit(store) instanceof PackManifestLog.Committed.Done);
        damage(6);
        assertFalse(packs.log().repairHint(before), "its content is unknown");
    }

    @Test
    @DisplayName("B4 another process writes a missing hint first: its hint stays")
    void hintWrittenMeanwhile() {
        PackManifest last = chain(3);
        store.remove(PackFixture.KEYS.hint());
        store.beforeEach(onRequest("PUT newest", this::restart));
        assertFalse(packs.log().repairHint(last));
        assertEquals("100", hintText());
    }

    @Test
    @DisplayName(
            "B3 409 to a manifest that lands later, and others have built on it: recognised as its"
                    + " own, and the hint is not set back")
    void landsLateAndIsBuiltOn() {
        chain(2);
        List<byte[]> sent = new ArrayList<>();
        PackManifest committed = assertThat(commit(keeping(sent), once(() -> {
                    land(sent);
                    place(4);
                    hint(4);
                })))
                .isDone();
        assertEquals(3, committed.number());
        assertEquals("4", hintText());
    }

    @Test
    @DisplayName("B5 the hint cannot be advanced, and its presence is then unknown: unknown, and no"
            + " success")
    void hintSilentAfterRefusal() {
        chain(2);
        store.beforeEach(
                onRequest("REPLACE newest", () -> silence(PackFixture.KEYS.hint()::equals)));
        assertThat(commit(store)).isUnknown();
    }

    @Test
    @DisplayName(
            "S4 S9 a server that sends neither version nor time: commits, and the hint is advanced")
    void neitherVersionNorTime() {
        ObjectStore bare = answering(
                PackFixture.KEYS.hint(),
                (_, sound) -> sound instanceof GetResult.Found found
                        ? new GetResult.Found(found.bytes(), "", found.marks())
                        : sound);
        assertEquals(1, assertThat(commit(bare)).isDone().number());
        assertEquals("1", hintText());
    }

    @Test
    @DisplayName("B3 409 to a manifest that lands later, and the hint is then silent: unknown")
    void landsLateAndHintIsSilent() {
        chain(2);
        List<byte[]> sent = new ArrayList<>();
        assertThat(commit(keeping(sent), once(() -> {
                    land(sent);
                    silence(PackFixture.KEYS.hint()::equals);
                })))
                .isUnknown();
    }

    /** Responds 409 to each creation of a manifest 3, and delays it. */
    private ObjectStore keeping(List<byte[]> sent) {
        return new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                if (key.equals(key(3))) {
                    sent.add(body);
                    return WriteResult.CONFLICT;
                }
                return super.putIfAbsent(key, body, marks);
            }
        };
    }

    private void land(List<byte[]> sent) {
        byte[] body = sent.getFirst();
        store.place(
                key(3), body, new ObjectMarks("00".repeat(16), Sha256.of(body).hex()));
    }

    @Test
    @DisplayName(
            "B3 B4 409 to a manifest that lands later in a restarted bucket: committed in the new"
                    + " chain")
    void landsLateAndRestarted() {
        chain(2);
        List<byte[]> sent = new ArrayList<>();
        PackManifest committed = assertThat(commit(keeping(sent), once(() -> {
                    clear();
                    land(sent);
                    restart();
                })))
                .isDone();
        assertEquals(101, committed.number());
        assertEquals(List.of(2L, 100L), bases);
    }

    private void restart() {
        place(100);
        hint(100);
    }

    @Test
    @DisplayName(
            "B3 R14 409, nothing landed, and others take that number and the next: not recognised"
                    + " as its own, planned again on top")
    void othersTakeTheNumber() {
        for (int others : List.of(1, 2)) {
            clear();
            bases.clear();
            chain(2);
            PackManifest committed = assertThat(
                            commit(conflictOnce(), once(() -> LongStream.rangeClosed(3, 2 + others)
                                    .forEach(this::place))))
                    .isDone();
            assertEquals(3 + others, committed.number());
            assertEquals(List.of(2L, 2L + others), bases);
            assertEquals(names(committed), names(newest(store, PackManifest.NONE)));
        }
    }

    @Test
    @DisplayName("B3 409, nothing landed, and then no change, or too much, or no response: unknown,"
            + " since it may still land; another's number: overtaken")
    void undecidedAtTheEnd() {
        PackInfo pack = PackFixture.info(packs.random(), 1);
        PackInfo huge = new PackInfo(
                pack.name(),
                pack.bytes(),
                pack.indexOffset(),
                PackManifest.MAX_ENTRIES + 1,
                0,
                pack.filter());
        for (Function<PackManifest, ManifestPlan<ManifestPlan.NoFinding>> second :
                List.<Function<PackManifest, ManifestPlan<ManifestPlan.NoFinding>>>of(
                        _ -> ManifestPlan.nothing(),
                        base -> ManifestPlan.commit(base.plus(huge)))) {
            clear();
            chain(2);
            assertThat(commitTwice(pack, second, () -> {})).isUnknown();
        }
        clear();
        chain(2);
        assertThat(commitTwice(
                        pack,
                        base -> ManifestPlan.commit(base.plus(pack)),
                        () -> silence(_ -> true)))
                .isUnknown();
        store.plan(FaultPlan.SOUND);
        assertThat(commitTwice(pack, _ -> ManifestPlan.nothing(), () -> {
                    place(3);
                    hint(3);
                }))
                .isOvertaken();
    }

    private PackManifestLog.Committed<?> commitTwice(
            PackInfo pack,
            Function<PackManifest, ManifestPlan<ManifestPlan.NoFinding>> second,
            Runnable inPause) {
        AtomicInteger plans = new AtomicInteger();
        Runnable once = once(inPause);
        return log(conflictOnce(), _ -> once.run())
                .commit(base -> plans.incrementAndGet() == 1
                        ? ManifestPlan.commit(base.plus(pack))
                        : second.apply(base));
    }

    @Test
    @DisplayName("B3 412 to a manifest that has landed, and a truncated response to one read of it:"
            + " recognised as its own, without another plan")
    void truncatedWhileExamined() {
        chain(2);
        ObjectStore cutting = answering(
                key(3),
                (read, sound) -> read == 1 && sound instanceof GetResult.Found found
                        ? new GetResult.Found(
                                found.bytes().asSlice(0, 30), found.etag(), found.marks())
                        : sound);
        ObjectStore twice = new ForwardingStore(cutting) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                super.putIfAbsent(key, body, marks);
                return super.putIfAbsent(key, body, marks); // a proxy sends it twice
            }
        };
        assertEquals(3, assertThat(commit(twice)).isDone().number());
        assertEquals(List.of(2L), bases);
    }

    @Test
    @DisplayName("B2 B3 409, and nothing landed, with absent as 403: retried")
    void conflictWithoutListing() {
        chain(2);
        ObjectStore limited = creating(
                new WithoutListing(store),
                3,
                attempt -> attempt == 1 ? Optional.of(WriteResult.CONFLICT) : Optional.empty());
        assertEquals(3, assertThat(commit(limited)).isDone().number());
    }

    @Test
    @DisplayName(
            "R13 no response, then 409 with the first attempt, which lands later: recognised as"
                    + " its own")
    void conflictWithAnAttemptUnderWay() {
        chain(2);
        ObjectStore slow = new ForwardingStore(store) {
            private int attempts;

            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                if (key.equals(key(3)) && ++attempts < 3) {
                    return attempts == 1 ? WriteResult.failed(TIMEOUT) : WriteResult.CONFLICT;
                }
                super.putIfAbsent(key, body, marks); // the first one
                return super.putIfAbsent(key, body, marks);
            }
        };
        assertEquals(3, assertThat(commit(slow)).isDone().number());
        assertEquals(List.of(2L), bases);
    }

    @Test
    @DisplayName(
            "B8 a sealed manifest that only a listing finds, and no change: the seal is removed,"
                    + " since unpacked entries may have been stored")
    void sealedAndUnreachable() {
        place(new PackManifest(
                1,
                PackManifest.UnpackedEntries.NONE,
                List.of(PackFixture.info(packs.random(), 1)),
                List.of()));
        assertThat(packs.log().commit(_ -> ManifestPlan.nothing())).isOvertaken();
        PackManifest after = newest(store, PackManifest.NONE);
        assertEquals(PackManifest.UnpackedEntries.POSSIBLE, after.unpackedEntries());
        assertEquals(1, after.packs().size());
    }

    @Test
    @DisplayName(
            "B5 no change to commit, and lookups cannot be made to reach the manifest: a failure")
    void nothingToCommitAndUnreachable() {
        chain(3);
        hint(9);
        store.plan(FaultPlan.when(
                request -> request.key().equals(PackFixture.KEYS.hint())
                        && request.operation().startsWith("PUT"),
                new Fault.Lost(DENIED)));
        assertThat(packs.log().commit(_ -> ManifestPlan.nothing())).isFailed();
    }

    @Test
    @DisplayName("B4 no change to commit, and the bucket is restarted while the hint is checked:"
            + " planned again in the new chain")
    void nothingToCommitAndRestarted() {
        chain(3);
        hint(1);
        Runnable anew = once(() -> {
            clear();
            restart();
        });
        assertThat(packs.log().commit(base -> {
                    bases.add(base.number());
                    anew.run();
                    return ManifestPlan.nothing();
                }))
                .isOvertaken();
        assertEquals(List.of(3L, 100L), bases);
    }

    @Test
    @DisplayName("B5 a manifest is created, and the hint is then silent: unknown, and no success")
    void createdAndHintIsSilent() {
        chain(2);
        store.beforeEach(onRequest("PUT m3", () -> silence(PackFixture.KEYS.hint()::equals)));
        assertThat(commit(store)).isUnknown();
    }

    @Test
    @DisplayName(
            "B4 a manifest is created in a restarted bucket, which is then silent: unknown, since"
                    + " it exists")
    void recreatedAndSilent() {
        chain(2);
        AtomicInteger hints = new AtomicInteger();
        store.beforeEach(onRequest("PUT m3", () -> {
            clear();
            restart();
            store.plan(request ->
                    request.key().equals(PackFixture.KEYS.hint()) && hints.incrementAndGet() > 1
                            ? new Fault.Lost(TIMEOUT)
                            : new Fault.None());
        }));
        assertThat(commit(store)).isUnknown();
    }

    @Test
    @DisplayName("B4 one response for the new hint lacks its time: requested again, and the first"
            + " number comes from the time")
    void hintWithoutTimeOnce() {
        store.pass(YEARS);
        ObjectStore undated = answering(
                PackFixture.KEYS.hint(),
                (read, sound) -> read == 2 && sound instanceof GetResult.Found found
                        ? new GetResult.Found(found.bytes(), found.etag(), found.marks())
                        : sound);
        assertTrue(assertThat(commit(undated)).isDone().number() > 1_000_000);
    }
}
