package dev.granary.s3.register;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.ForwardingStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.store.GetResult;
import dev.granary.testing.Race;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/** Reads, creation and swaps of a head, with other writers and lost requests. */
class RegisterTest {
    private static final long DATE = 1_700_000_000_000L; // of the store
    private static final String HEAD = PackFixture.KEYS.head();
    private static final Fault NONE = new Fault.None();
    private static final Fault LOST = new Fault.Lost(Fault.TIMEOUT);
    private static final Fault ANSWER_LOST = new Fault.AnswerLost(Fault.TIMEOUT);
    private static final Fault CONFLICT = new Fault.Conflicting(Fault.Moment.BEFORE);

    private final PackFixture bucket = new PackFixture("RegisterTest");
    private final RecordingObjectStore store = bucket.store;
    private final Register register = bucket.register();

    /** The heads that {@link #adding} was asked about. */
    private final List<Head> asked = new ArrayList<>();

    private PackInfo pack(long generation) {
        return PackFixture.info(bucket.random(), generation, 2);
    }

    /** Returns the change that adds a pack which is not there yet. */
    private Function<Head, Change> adding(PackInfo pack) {
        return head -> {
            asked.add(head);
            return head.namesOrRetires(pack.name())
                    ? Change.NOTHING
                    : new Change.Next(head.with(pack));
        };
    }

    private SwapResult add(PackInfo pack) {
        return register.swap(Optional.empty(), adding(pack));
    }

    private void addByAnother(PackInfo pack) {
        SwapResult added = bucket.register().swap(Optional.empty(), adding(pack));
        assertTrue(assertInstanceOf(SwapResult.Done.class, added).isOwn());
    }

    private Set<ObjectName> recent() {
        Set<ObjectName> names = new HashSet<>();
        bucket.head().recent().forEach(pack -> names.add(pack.name()));
        return names;
    }

    @Test
    @DisplayName("a register begins at the server's date in milliseconds, which is its boundary")
    void created() throws RegisterException {
        assertEquals(Optional.empty(), register.read());
        assertEquals(List.of(), register.packs());
        Register.Stored created = register.readOrCreate();
        assertEquals(DATE, created.head().generation());
        assertEquals(DATE, created.head().boundary());
        assertEquals(
                List.of("GET head", "GET head", "GET head", "PUT head"), store.namedRequests());
        Register.Stored read = register.readOrCreate();
        assertEquals(created.etag(), read.etag());
        assertEquals(created.head().nonce(), read.head().nonce());
    }

    @Test
    @DisplayName("of eight that create a register at once all get the same head, also if an answer"
            + " was lost")
    void createdAtOnce() throws Exception {
        store.plan(FaultPlan.once(
                request -> request.operation().equals("PUT none-match"), 0, ANSWER_LOST));
        List<String> nonces =
                Race.run(8, _ -> bucket.register().readOrCreate().head().nonce());
        assertEquals(1, Set.copyOf(nonces).size());
    }

    @Test
    @DisplayName("no register begins without the server's date, against a refusal, or in silence")
    void notCreated() {
        Register dateless = bucket.register(new ForwardingStore(store) {
            @Override
            public GetResult get(String key, long limit) {
                return GetResult.ABSENT;
            }
        });
        assertTrue(assertThrows(RegisterException.class, dateless::readOrCreate)
                .toString()
                .contains("no date"));
        for (Fault fault : List.of(new Fault.Lost(Fault.DENIED), LOST, CONFLICT)) {
            store.plan(
                    FaultPlan.when(request -> request.operation().equals("PUT none-match"), fault));
            assertFalse(assertThrows(RegisterException.class, register::readOrCreate)
                    .isLoss());
        }
        assertEquals(List.of(), store.keys());
    }

    @Test
    @DisplayName("a head that was removed and made again is above every name of the former one,"
            + " which no later swap adds")
    void madeAgain() throws RegisterException {
        for (int i = 0; i < 100; i++) {
            add(pack(DATE));
        }
        Register.Stored former = register.readOrCreate();
        assertEquals(DATE + 100, former.head().generation());
        store.remove(HEAD);
        store.pass(Duration.ofSeconds(1));
        PackInfo late = pack(former.head().generation());
        SwapResult result = register.swap(
                Optional.of(former),
                head -> head.admits(late.name())
                        ? new Change.Next(head.with(late))
                        : new Change.GiveUp("another line"));
        Head now = assertInstanceOf(SwapResult.GaveUp.class, result).seen().head();
        assertEquals(DATE + 1_000, now.generation());
        assertEquals(DATE + 1_000, now.boundary());
        assertEquals(Set.of(), recent());
    }

    @Test
    @DisplayName("a swap reads the head and replaces it: one generation more, another nonce; a"
            + " known head saves the read")
    void swaps() throws RegisterException {
        Register.Stored before = register.readOrCreate();
        store.newRequests();
        PackInfo pack = pack(DATE);
        SwapResult.Done done = assertInstanceOf(SwapResult.Done.class, add(pack));
        assertTrue(done.isOwn());
        assertEquals(List.of("GET head", "REPLACE head"), store.newRequests());
        assertEquals(DATE + 1, done.now().head().generation());
        assertFalse(done.now().head().nonce().equals(before.head().nonce()));
        assertEquals(bucket.head().nonce(), register.read().orElseThrow().head().nonce());
        store.newRequests();
        assertInstanceOf(
                SwapResult.Done.class, register.swap(Optional.of(done.now()), adding(pack(DATE))));
        assertEquals(List.of("REPLACE head"), store.newRequests());
        assertEquals(2, recent().size());
    }

    @Test
    @DisplayName("nothing to do is done without a write; giving up returns the head it gave up on")
    void noChange() {
        PackInfo pack = pack(DATE);
        add(pack);
        store.newRequests();
        SwapResult.Done found = assertInstanceOf(SwapResult.Done.class, add(pack));
        assertFalse(found.isOwn());
        SwapResult.GaveUp gaveUp = assertInstanceOf(
                SwapResult.GaveUp.class,
                register.swap(Optional.empty(), _ -> new Change.GiveUp("a reason")));
        assertEquals("a reason", gaveUp.cause());
        assertEquals(DATE + 1, gaveUp.seen().head().generation());
        assertEquals(List.of("GET head", "GET head"), store.newRequests());
    }

    @Test
    @DisplayName("another writer is faster: the function is asked about the head of the moment, and"
            + " both changes are there")
    void otherWriter() throws RegisterException {
        Register.Stored stale = register.readOrCreate();
        PackInfo theirs = pack(DATE);
        PackInfo ours = pack(DATE);
        addByAnother(theirs);
        asked.clear();
        SwapResult result = register.swap(Optional.of(stale), adding(ours));
        assertTrue(assertInstanceOf(SwapResult.Done.class, result).isOwn());
        assertEquals(
                List.of(DATE, DATE + 1), asked.stream().map(Head::generation).toList());
        assertEquals(Set.of(theirs.name(), ours.name()), recent());
    }

    @Test
    @DisplayName("409 and 412 are answers: the swap goes on, however many there are, and waits for"
            + " some seconds at most")
    void conflicts() throws RegisterException {
        register.readOrCreate();
        AtomicInteger left = new AtomicInteger(20);
        store.plan(request -> !request.operation().equals("PUT match") || left.decrementAndGet() < 0
                ? NONE
                : left.get() % 2 == 0
                        ? CONFLICT
                        : new Fault.PreconditionFailed(Fault.Moment.BEFORE));
        assertTrue(assertInstanceOf(SwapResult.Done.class, add(pack(DATE))).isOwn());
        assertEquals(20, bucket.ticker.pauses().size());
        assertTrue(bucket.ticker.longestPause().compareTo(Duration.ofSeconds(13)) < 0);
        assertTrue(bucket.ticker.pauses().getFirst().compareTo(Duration.ofMillis(100)) <= 0);
    }

    @Test
    @DisplayName("a request is lost before or after its effect: the change is made once")
    void lostAnswers() throws RegisterException {
        register.readOrCreate();
        for (List<Fault> faults : List.of(
                List.of(NONE, LOST),
                List.of(NONE, ANSWER_LOST),
                List.of(LOST),
                List.of(NONE, LOST, LOST, NONE, ANSWER_LOST),
                List.of(NONE, new Fault.Conflicting(Fault.Moment.AFTER)),
                List.of(NONE, new Fault.PreconditionFailed(Fault.Moment.AFTER)))) {
            long generation = bucket.head().generation();
            PackInfo pack = pack(DATE);
            store.script(faults.toArray(Fault[]::new));
            assertInstanceOf(SwapResult.Done.class, add(pack), faults::toString);
            assertTrue(recent().contains(pack.name()), faults::toString);
            assertEquals(generation + 1, bucket.head().generation(), faults::toString);
        }
    }

    @Test
    @DisplayName("a request that arrives after the swap was done again has no effect")
    void lateCopy() throws RegisterException {
        register.readOrCreate();
        PackInfo pack = pack(DATE);
        store.script(NONE, new Fault.Late());
        assertInstanceOf(SwapResult.Done.class, add(pack));
        store.land();
        assertEquals(DATE + 1, bucket.head().generation());
        assertEquals(Set.of(pack.name()), recent());
    }

    @Test
    @DisplayName("five requests in a row without an answer end a swap: unknown if one of them may"
            + " have made the change, failed if none can")
    void silence() throws RegisterException {
        register.readOrCreate();
        store.plan(FaultPlan.when(request -> request.operation().equals("GET"), LOST));
        SwapResult failed = add(pack(DATE));
        assertInstanceOf(SwapResult.Failed.class, failed);
        assertEquals(4, bucket.ticker.pauses().size());
        store.plan(FaultPlan.when(request -> request.operation().equals("PUT match"), LOST));
        SwapResult.Unknown unknown = assertInstanceOf(SwapResult.Unknown.class, add(pack(DATE)));
        assertTrue(unknown.cause().contains("no answer"), unknown::cause);
        store.plan(FaultPlan.SOUND);
        assertEquals(Set.of(), recent());
    }

    @Test
    @DisplayName("a refusal ends a swap; after a lost answer its outcome is unknown")
    void refused() throws RegisterException {
        register.readOrCreate();
        Fault denied = new Fault.Lost(Fault.DENIED);
        store.script(NONE, denied);
        assertInstanceOf(SwapResult.Failed.class, add(pack(DATE)));
        store.script(NONE, LOST, NONE, denied);
        assertInstanceOf(SwapResult.Unknown.class, add(pack(DATE)));
        assertEquals(Set.of(), recent());
    }

    @Test
    @DisplayName("a swap ends five minutes after its start, by its own clock, if others are faster")
    void deadline() throws RegisterException {
        register.readOrCreate();
        store.plan(FaultPlan.when(request -> request.operation().equals("PUT match"), CONFLICT));
        long start = bucket.ticker.nanos();
        SwapResult.Failed failed = assertInstanceOf(SwapResult.Failed.class, add(pack(DATE)));
        assertTrue(failed.cause().contains("5 minutes"), failed::cause);
        Duration took = Duration.ofNanos(bucket.ticker.nanos() - start);
        assertTrue(took.compareTo(Duration.ofMinutes(5)) >= 0, took::toString);
        assertTrue(took.compareTo(Duration.ofMinutes(5).plusSeconds(13)) < 0, took::toString);
        assertTrue(bucket.ticker.pauses().size() > 30, bucket.ticker.pauses()::toString);
    }

    @Test
    @DisplayName("a damaged head is a loss, which no swap and no creation replaces; neither does"
            + " one of a newer version")
    void damaged() {
        for (String text : List.of("", "<html></html>", "{\"format\": 7}")) {
            store.place(HEAD, text.getBytes(UTF_8));
            boolean isLoss = !text.contains("7");
            assertEquals(
                    isLoss,
                    assertThrows(RegisterException.class, register::read).isLoss());
            assertThrows(RegisterException.class, register::readOrCreate);
            assertInstanceOf(SwapResult.Failed.class, add(pack(DATE)));
            assertEquals(text, new String(store.body(HEAD), UTF_8));
        }
    }

    @Test
    @DisplayName("an unchanged head is the known one; a changed one is read, a removed one is gone")
    void ifChanged() throws RegisterException {
        Register.Stored known = register.readOrCreate();
        assertSame(known, register.readIfChanged(known).orElseThrow());
        add(pack(DATE));
        assertEquals(
                DATE + 1, register.readIfChanged(known).orElseThrow().head().generation());
        store.remove(HEAD);
        assertEquals(Optional.empty(), register.readIfChanged(known));
    }

    @Test
    @DisplayName("a base is read under its name only with its own bytes; a silent server is no"
            + " loss")
    void base() throws RegisterException {
        PackInfo first = pack(DATE);
        PackInfo second = pack(DATE);
        ObjectName name = register.writeBase(DATE, List.of(first, second));
        assertEquals(
                List.of(first.name(), second.name()),
                register.readBase(name).packs().stream().map(PackInfo::name).toList());
        assertEquals(name, register.writeBase(DATE, List.of(first, second)));
        store.script(LOST);
        assertFalse(assertThrows(RegisterException.class, () -> register.readBase(name))
                .isLoss());
        byte[] changed = store.body(PackFixture.KEYS.base(name));
        changed[changed.length / 2] ^= 1;
        store.place(PackFixture.KEYS.base(name), changed);
        assertTrue(assertThrows(RegisterException.class, () -> register.readBase(name))
                .isLoss());
        store.remove(PackFixture.KEYS.base(name));
        assertTrue(assertThrows(RegisterException.class, () -> register.readBase(name))
                .isLoss());
    }

    @Test
    @DisplayName("a head with its version survives the way to the local disk")
    void onDisk() throws RegisterException {
        add(pack(DATE));
        Register.Stored stored = register.read().orElseThrow();
        Register.Stored read = Register.decode(Register.encode(stored));
        assertEquals(stored.etag(), read.etag());
        assertEquals(stored.head().nonce(), read.head().nonce());
        assertThrows(RegisterException.class, () -> Register.decode(new byte[0]));
    }
}
