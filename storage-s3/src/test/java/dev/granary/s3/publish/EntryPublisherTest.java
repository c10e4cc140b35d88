package dev.granary.s3.publish;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.ERROR_500;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.s3.contract.DeviatingObjectStore;
import dev.granary.s3.contract.DeviatingObjectStore.Deviation;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.transport.ResponseClassifier;
import dev.granary.testing.ChildJvm;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;

/** Tests of every row of the publish protocol, and of its races. */
class EntryPublisherTest {
    private static final String KEY = "v1/some/key";
    private static final int VERSION_AT = 8;
    private static final StoreFailure NOT_SUPPORTED = new StoreFailure(
            StoreFailure.Kind.NOT_SUPPORTED, 501, "NotImplemented", "what is that");

    /** Initial content of the bucket. */
    enum Before {
        NOTHING,
        SAME,
        OTHER,
        DAMAGED
    }

    private final TestEntries entries = new TestEntries(EntryPublisherTest.class.getName());
    private final TestTicker ticker = new TestTicker();
    private final SplittableRandom random = TestSeed.random("EntryPublisherTest");
    private MemoryObjectStore store = new MemoryObjectStore();
    private EntryPublisher publisher = publisher(store);
    private final Entry entry = entries.entry(1000);

    private EntryPublisher publisher(MemoryObjectStore server) {
        return new EntryPublisher(server, TrustPolicy.OFF, ticker, random.split());
    }

    /** Returns servers that honour conditions, and others; each is empty. */
    private static List<MemoryObjectStore> servers() {
        return List.of(
                new MemoryObjectStore(),
                new DeviatingObjectStore(Deviation.REFUSES_CONDITIONS),
                new DeviatingObjectStore(Deviation.REFUSES_IF_MATCH),
                new DeviatingObjectStore(Deviation.IGNORES_IF_MATCH));
    }

    /** Publishes to {@code server} from now on. */
    private void use(MemoryObjectStore server) {
        store = server;
        publisher = publisher(server);
    }

    private StoreResult publish() {
        return publisher.publish(entry, KEY);
    }

    /** Places the entry in another format, and returns its bytes. */
    private byte[] placeVersion(int version) {
        byte[] bytes = EntryFormat.encode(entry, Compression.ZSTD);
        TestEntries.setVersion(bytes, 0, version);
        store.place(KEY, bytes);
        return bytes;
    }

    private void place(Entry other) {
        UUID putId = new UUID(entries.random().nextLong(), entries.random().nextLong());
        store.place(KEY, EntryFormat.encode(other, Compression.ZSTD, putId));
    }

    private void assertStored(Entry expected) {
        assertEquals(List.of(KEY), store.keys());
        LoadResult read = EntryFormat.decode(
                MemorySegment.ofArray(store.body(KEY)),
                expected.id(),
                VerificationLevel.CONTENT_HASH);
        assertThat(read).isHitOf(expected);
    }

    @Test
    @DisplayName("the usual case is one PUT, and its length is reported")
    void usualCase() {
        long bytes = assertThat(publish()).isStored();
        assertEquals(store.body(KEY).length, bytes);
        assertEquals(List.of("PUT none-match"), store.requests());
        assertStored(entry);
        assertEquals(List.of(), ticker.pauses());
    }

    @Test
    @DisplayName("the response was lost after the commit: reported as stored, exactly one object")
    void replyLost() {
        for (StoreFailure failure : List.of(TIMEOUT, ERROR_500)) {
            store.remove(KEY);
            store.forgetRequests();
            store.script(new Fault.AnswerLost(failure));
            assertThat(publish()).isStored();
            assertEquals(List.of("PUT none-match", "PUT none-match", "GET"), store.requests());
            assertStored(entry);
        }
    }

    @Test
    @DisplayName("the request was lost before the commit: sent again with the same put id, stored")
    void requestLost() {
        store.script(new Fault.Lost(TIMEOUT), new Fault.Lost(ERROR_500));
        assertThat(publish()).isStored();
        assertEquals(
                List.of("PUT none-match", "PUT none-match", "PUT none-match"), store.requests());
        assertEquals(2, ticker.pauses().size());
        assertStored(entry);
    }

    @Test
    @DisplayName("the response to our commit was lost, and another entry replaced it: recognised as"
            + " another's, never as ours")
    void replyLostThenReplaced() {
        Entry other = entries.entry(entry.id(), 500);
        store.script(new Fault.AnswerLostThen(TIMEOUT, () -> place(other)));
        assertThat(publish()).isDivergent();
        assertStored(other);
        store.remove(KEY);
        store.script(new Fault.AnswerLostThen(TIMEOUT, () -> place(entry)));
        assertThat(publish()).isDuplicate();
        assertStored(entry);
    }

    @Test
    @DisplayName("no response to any attempt, and no object: unknown, never absent, and a later"
            + " publication is safe")
    void neverAcknowledged() {
        store.script(new Fault.Lost(TIMEOUT), new Fault.Lost(TIMEOUT), new Fault.Lost(TIMEOUT));
        assertThat(publish()).isUnknown();
        assertEquals(
                List.of("PUT none-match", "PUT none-match", "PUT none-match", "GET"),
                store.requests());
        assertThat(publish()).isStored();
        assertStored(entry);
    }

    @Test
    @DisplayName("no response to any attempt, but the last one took effect: stored")
    void lastTookEffect() {
        store.script(
                new Fault.Lost(TIMEOUT), new Fault.Lost(TIMEOUT), new Fault.AnswerLost(TIMEOUT));
        assertThat(publish()).isStored();
        assertStored(entry);
    }

    @Test
    @DisplayName("no response to any request: unknown")
    void silence() {
        store.script(
                new Fault.AnswerLost(TIMEOUT),
                new Fault.Lost(TIMEOUT),
                new Fault.Lost(TIMEOUT),
                new Fault.Lost(TIMEOUT));
        assertThat(publish()).isUnknown();
    }

    @Test
    @DisplayName("the same content exists: duplicate, nothing written, one HEAD")
    void duplicate() {
        place(entry);
        byte[] before = store.body(KEY);
        assertThat(publish()).isDuplicate();
        assertEquals(List.of("PUT none-match", "GET"), store.requests());
        assertArrayEquals(before, store.body(KEY));
    }

    @Test
    @DisplayName("two writers, different bytes, one id: the first stays")
    void divergent() {
        Entry other = entries.entry(entry.id(), 700);
        place(other);
        assertThat(publish()).isDivergent();
        assertStored(other);
    }

    @Test
    @DisplayName("the first entry is damaged: replaced by If-Match")
    void damagedFirst() {
        store.place(KEY, entries.bytes(300));
        assertThat(publish()).isStored();
        assertEquals(List.of("PUT none-match", "GET", "PUT match"), store.requests());
        assertStored(entry);
    }

    @Test
    @DisplayName("the first entry is damaged and kept its length: replaced")
    void damagedWithItsLength() {
        place(entry);
        byte[] body = store.body(KEY);
        body[body.length / 2] ^= 1;
        store.place(KEY, body);
        assertThat(publish()).isStored();
        assertStored(entry);
    }

    @Test
    @DisplayName("the first entry was cut to a third: it is replaced, and no duplicate")
    void cut() {
        for (MemoryObjectStore server : servers()) {
            use(server);
            place(entry);
            store.place(KEY, Arrays.copyOf(store.body(KEY), store.body(KEY).length / 3));
            assertThat(publish()).isStored();
            assertStored(entry);
        }
    }

    @Test
    @DisplayName("the same content with other metadata, so of another length: a duplicate, by"
            + " reading it")
    void duplicateOfAnotherLength() {
        place(Entry.of(
                entry.id(),
                entry.binaries(),
                Duration.ofHours(3),
                new EntryMetadata(
                        "another",
                        "a producer with a much longer name",
                        Instant.ofEpochSecond(1),
                        List.of("k", "l"),
                        List.of(),
                        "another description of the same kernel")));
        assertThat(publish()).isDuplicate();
        assertEquals(List.of("PUT none-match", "GET"), store.requests());
    }

    @Test
    @DisplayName("an entry of a newer format stays, on any server; one of an older format is"
            + " replaced")
    void otherFormat() {
        for (MemoryObjectStore server : servers()) {
            use(server);
            byte[] newer = placeVersion(EntryFormat.VERSION + 1);
            assertThat(publish()).isDivergent();
            assertArrayEquals(newer, store.body(KEY));
            placeVersion(EntryFormat.VERSION - 1);
            assertThat(publish()).isStored();
            assertStored(entry);
        }
    }

    @Test
    @DisplayName("an entry that needs more memory than the process has left stays: it is not"
            + " known to be damaged")
    void littleMemory() throws Exception {
        ChildJvm.Result result = ChildJvm.of(LittleMemory.class)
                .shortLived()
                .flags("-XX:MaxDirectMemorySize=8m")
                .run();
        assertTrue(result.output().contains("all as expected"), result::toString);
    }

    /** Publishes where an entry is stored that does not fit into the memory of the process. */
    static final class LittleMemory {
        private LittleMemory() {}

        public static void main(String[] none) {
            EntryPublisherTest test = new EntryPublisherTest();
            byte[] binary = Arrays.copyOf(test.entries.bytes(1 << 20), 16 << 20);
            test.place(TestEntries.entry(test.entry.id(), KernelBinaries.of(binary)));
            byte[] before = test.store.body(KEY);
            String cause = assertThat(test.publish()).isFailed();
            assertTrue(cause.contains("cannot be read here"), cause);
            assertArrayEquals(before, test.store.body(KEY));
            System.out.println("all as expected");
        }
    }

    @Test
    @DisplayName("version or flags of an entry are damaged: no newer format, replaced like any"
            + " other damage")
    void damagedVersion() {
        for (int at = VERSION_AT; at < VERSION_AT + 4; at++) {
            for (int bit = 0; bit < 8; bit++) {
                byte[] damaged = EntryFormat.encode(entry, Compression.ZSTD);
                damaged[at] ^= (byte) (1 << bit);
                store.place(KEY, damaged);
                assertThat(publish()).as("byte " + at).isStored();
                LoadResult existingEntry = EntryFormat.decode(
                        MemorySegment.ofArray(store.body(KEY)),
                        entry.id(),
                        VerificationLevel.CONTENT_HASH);
                assertThat(existingEntry).as("byte " + at).isHit();
            }
        }
    }

    @Test
    @DisplayName(
            "two processes repair one damaged entry: the second finds the first's entry and keeps"
                    + " it")
    void repairRace() {
        store.place(KEY, entries.bytes(300));
        store.script(new Fault.None(), new Fault.None(), new Fault.Meanwhile(() -> place(entry)));
        assertThat(publish()).isDuplicate();
        assertEquals(List.of("PUT none-match", "GET", "PUT match", "GET"), store.requests());
    }

    @Test
    @DisplayName("the response to a repair was lost: reported as stored")
    void repairReplyLost() {
        store.place(KEY, entries.bytes(300));
        store.script(new Fault.None(), new Fault.None(), new Fault.AnswerLost(TIMEOUT));
        assertThat(publish()).isStored();
        assertStored(entry);
    }

    @Test
    @DisplayName("conflicts: retried after growing random pauses, at most three times")
    void conflicts() {
        Fault conflict = new Fault.Conflicting(Fault.Moment.BEFORE);
        store.script(conflict, conflict, conflict);
        assertThat(publish()).isStored();
        assertEquals(3, ticker.pauses().size());
        assertTrue(ticker.pauses().stream()
                .allMatch(pause -> pause.compareTo(Duration.ofMillis(200)) <= 0));
        store.remove(KEY);
        store.script(conflict, conflict, conflict, conflict);
        assertThat(publish()).isFailed();
        assertEquals(List.of(), store.keys());
    }

    @Test
    @DisplayName("the existing object is deleted meanwhile: created after all")
    void deletedMeanwhile() {
        place(entry);
        store.script(new Fault.None(), new Fault.Meanwhile(() -> store.remove(KEY)));
        assertThat(publish()).isStored();
        assertStored(entry);
    }

    @Test
    @DisplayName("the existing object is deleted meanwhile, after an attempt without a"
            + " response, or before it is replaced: created after all")
    void deletedBeforeStep() {
        store.script(
                new Fault.AnswerLost(TIMEOUT),
                new Fault.None(),
                new Fault.Meanwhile(() -> store.remove(KEY)));
        assertThat(publish()).isStored();
        assertEquals(
                List.of("PUT none-match", "PUT none-match", "GET", "PUT none-match"),
                store.requests());
        assertStored(entry);
        store.place(KEY, entries.bytes(300));
        store.forgetRequests();
        store.script(
                new Fault.None(), new Fault.None(), new Fault.Meanwhile(() -> store.remove(KEY)));
        assertThat(publish()).isStored();
        assertEquals(
                List.of("PUT none-match", "GET", "PUT match", "GET", "PUT none-match"),
                store.requests());
        assertStored(entry);
    }

    @Test
    @DisplayName("a server that ignores conditions: the first PUT is the publication")
    void conditionsIgnored() {
        use(new DeviatingObjectStore(Deviation.IGNORES_CONDITIONS));
        assertThat(publish()).isStored();
        assertThat(publish()).isStored();
        assertEquals(List.of("PUT", "PUT"), store.requests());
        assertStored(entry);
    }

    @Test
    @DisplayName("not allowed, not supported: refused")
    void refused() {
        for (StoreFailure failure : List.of(DENIED, NOT_SUPPORTED)) {
            // not supported with a condition and without one
            store.script(new Fault.Lost(failure), new Fault.None(), new Fault.Lost(failure));
            assertThat(publish()).isRefused();
            store.forgetScript();
        }
        assertEquals(List.of(), store.keys());
    }

    @Test
    @DisplayName("an object that is refused for itself ends its own publication only: one"
            + " request, and other entries are written")
    void objectRefused() {
        for (StoreFailure failure : List.of(
                ResponseClassifier.failure(413, "", "Request Entity Too Large"),
                ResponseClassifier.failure(400, "EntityTooLarge", "too large"),
                ResponseClassifier.failure(400, "BadDigest", "the digest does not fit"))) {
            store.script(new Fault.Lost(failure));
            int before = store.requests().size();
            StoreResult result = publish();
            assertEquals(
                    new StoreResult.Refused(StoreResult.Scope.ENTRY, failure.toString()), result);
            assertEquals(before + 1, store.requests().size());
        }
        assertThat(publish()).isStored();
    }

    @Test
    @DisplayName("refused after an attempt without a response: that one may have taken effect, so"
            + " unknown")
    void refusedAfterUnknown() {
        store.script(new Fault.AnswerLost(TIMEOUT), new Fault.Lost(DENIED));
        assertThat(publish()).isUnknown();
        assertStored(entry);
        store.place(KEY, entries.bytes(300));
        store.script(
                new Fault.None(),
                new Fault.None(),
                new Fault.AnswerLost(TIMEOUT),
                new Fault.Lost(DENIED));
        assertThat(publish()).isUnknown();
        assertStored(entry);
    }

    @Test
    @DisplayName("nothing was sent: failed, not unknown")
    void unsent() {
        store.script(new Fault.Lost(StoreFailure.of(StoreFailure.Kind.SUSPENDED, "suspended")));
        assertThat(publish()).isFailed();
        assertEquals(List.of("PUT none-match"), store.requests());
    }

    @Test
    @DisplayName("a response that never settles ends after a bounded number of requests")
    void bounded() {
        store.place(KEY, entries.bytes(300));
        for (int i = 0; i < 40; i++) { // damaged repeatedly, just before each replacement
            store.script(new Fault.Meanwhile(() -> store.place(KEY, entries.bytes(300))));
        }
        assertThat(publish()).isOneOf(StoreResult.Failed.class, StoreResult.Unknown.class);
        assertTrue(store.requests().size() <= 20, () -> store.requests().toString());
    }

    @ParameterizedTest
    @EnumSource(Before.class)
    @DisplayName("any single fault at any step, with any initial content: the result is true of the"
            + " final content")
    void anyFault(Before before) {
        for (int step = 0; step < 5; step++) {
            for (Fault fault : List.of(
                    new Fault.Lost(TIMEOUT),
                    new Fault.AnswerLost(TIMEOUT),
                    new Fault.AnswerLost(ERROR_500))) {
                store.remove(KEY);
                prepare(before);
                List<Object> existingEntry = snapshot();
                store.script(Collections.nCopies(step, new Fault.None()).toArray(Fault[]::new));
                store.script(fault);
                StoreResult result = publisher.publish(entry, KEY);
                store.forgetScript();
                switch (result) {
                    case StoreResult.Stored _, StoreResult.Duplicate _ -> assertStored(entry);
                    case StoreResult.Divergent _, StoreResult.Failed _ ->
                        assertEquals(existingEntry, snapshot(), result::toString);
                    case StoreResult.Unknown _ -> {} // inconclusive
                    case StoreResult.Refused refused ->
                        throw new AssertionError("Nobody refused: " + refused);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Before.class)
    @DisplayName("any single fault at any step on servers that refuse conditions or If-Match: the"
            + " result is true of the final content")
    void anyFaultWithLess(Before before) {
        for (MemoryObjectStore server : servers()) {
            use(server);
            anyFault(before);
        }
    }

    @Test
    @DisplayName("conditions are refused: a HEAD, then a plain write; a sound object stays")
    void withoutConditions() {
        use(new DeviatingObjectStore(Deviation.REFUSES_CONDITIONS));
        assertThat(publish()).isStored();
        assertEquals(List.of("GET", "PUT"), store.requests());
        assertStored(entry);
        store.forgetRequests();
        assertThat(publish()).isDuplicate();
        assertEquals(List.of("GET"), store.requests());
        Entry other = entries.entry(entry.id(), 50);
        assertThat(publisher.publish(other, KEY)).isDivergent();
        assertStored(entry);
        store.place(KEY, entries.bytes(300));
        store.forgetRequests();
        assertThat(publish()).isStored();
        assertEquals(List.of("GET", "PUT"), store.requests());
        assertStored(entry);
    }

    @Test
    @DisplayName("without conditions, the response was lost: a HEAD shows that it is ours, or that"
            + " it must be written again")
    void withoutConditionsReplyLost() {
        use(new DeviatingObjectStore(Deviation.REFUSES_CONDITIONS));
        store.script(new Fault.None(), new Fault.AnswerLost(TIMEOUT));
        assertThat(publish()).isStored();
        assertEquals(List.of("GET", "PUT", "GET"), store.requests());
        assertStored(entry);
        store.remove(KEY);
        store.forgetRequests();
        store.script(new Fault.None(), new Fault.Lost(TIMEOUT));
        assertThat(publish()).isStored();
        assertEquals(List.of("GET", "PUT", "GET", "PUT"), store.requests());
        store.remove(KEY);
        store.forgetRequests();
        for (int i = 0; i < 3; i++) {
            store.script(new Fault.None(), new Fault.Lost(TIMEOUT));
        }
        assertThat(publish()).isUnknown();
        assertEquals(7, store.requests().size());
    }

    @Test
    @DisplayName("with create-if-absent only, a damaged entry is overwritten by a plain write")
    void createOnly() {
        use(new DeviatingObjectStore(Deviation.REFUSES_IF_MATCH));
        store.place(KEY, entries.bytes(300));
        assertThat(publish()).isStored();
        assertEquals(List.of("PUT none-match", "GET", "GET", "PUT"), store.requests());
        assertStored(entry);
    }

    @Test
    @DisplayName("an unsupported conditional write: the same publication goes on with plain"
            + " writes, and no probe")
    void conditionRefused() {
        store.script(new Fault.Lost(NOT_SUPPORTED));
        assertThat(publish()).isStored();
        assertEquals(List.of("PUT none-match", "GET", "PUT"), store.requests());
        assertStored(entry);
        store.place(KEY, entries.bytes(300));
        store.forgetRequests();
        store.script(new Fault.None(), new Fault.None(), new Fault.Lost(NOT_SUPPORTED));
        assertThat(publish()).isStored();
        assertEquals(List.of("PUT none-match", "GET", "PUT match", "GET", "PUT"), store.requests());
    }

    @Test
    @DisplayName("a duplicate older than half a day is rewritten with the same content, by"
            + " If-Match; a newer one is kept")
    void oldDuplicate() {
        place(entry);
        store.pass(EntryPublisher.OLD);
        assertThat(publish()).isDuplicate();
        assertEquals(List.of("PUT none-match", "GET"), store.requests());
        store.pass(Duration.ofSeconds(1));
        byte[] before = store.body(KEY);
        store.forgetRequests();
        assertThat(publish()).isDuplicate();
        assertEquals(List.of("PUT none-match", "GET", "PUT match"), store.requests());
        assertTrue(!Arrays.equals(before, store.body(KEY)), "another attempt's mark");
        assertStored(entry);
        store.forgetRequests();
        assertThat(publish()).isDuplicate();
        assertEquals(List.of("PUT none-match", "GET"), store.requests(), "it is new again");
    }

    @Test
    @DisplayName("an old duplicate that may not be replaced is a duplicate; one that is replaced"
            + " meanwhile is judged anew")
    void oldDuplicateKept() {
        place(entry);
        store.pass(Duration.ofDays(60));
        store.script(new Fault.None(), new Fault.None(), new Fault.Lost(DENIED));
        assertThat(publish()).isDuplicate();
        assertEquals("PUT match", store.requests().getLast());
        Entry other = entries.entry(entry.id(), 50);
        store.script(new Fault.None(), new Fault.None(), new Fault.Meanwhile(() -> place(other)));
        assertThat(publish()).isDivergent();
        assertStored(other);
    }

    @Test
    @DisplayName("an old duplicate is acknowledged only when it was rewritten: one that is removed"
            + " meanwhile is stored again, and without an answer the outcome is unknown")
    void oldDuplicateRemoved() {
        place(entry);
        store.pass(Duration.ofDays(60));
        store.script(
                new Fault.None(), new Fault.None(), new Fault.Meanwhile(() -> store.remove(KEY)));
        assertThat(publish()).isStored();
        assertStored(entry);
        store.pass(Duration.ofDays(60));
        for (Fault fault :
                List.of(new Fault.Lost(TIMEOUT), new Fault.Conflicting(Fault.Moment.BEFORE))) {
            store.forgetRequests();
            store.script(new Fault.None(), new Fault.None(), fault);
            assertThat(publish()).isDuplicate();
            assertEquals(
                    List.of("PUT none-match", "GET", "PUT match", "PUT match"), store.requests());
            store.pass(Duration.ofDays(60));
        }
        Fault lost = new Fault.Lost(TIMEOUT);
        store.script(new Fault.None(), new Fault.None(), lost, lost, lost, new Fault.None(), lost);
        assertThat(publish()).isUnknown();
    }

    @Test
    @DisplayName("an old duplicate on a server with fewer capabilities is rewritten as well; a"
            + " divergent entry is kept")
    void oldDuplicateOtherwise() {
        place(entry);
        store.pass(Duration.ofDays(60));
        assertThat(publisher.publish(entry, KEY)).isDuplicate();
        assertEquals(List.of("PUT none-match", "GET", "PUT match"), store.requests());
        for (Deviation deviation :
                List.of(Deviation.REFUSES_IF_MATCH, Deviation.REFUSES_CONDITIONS)) {
            use(new DeviatingObjectStore(deviation));
            place(entry);
            store.pass(Duration.ofDays(60));
            assertThat(publish()).isDuplicate();
            assertEquals("PUT", store.requests().getLast());
        }
        store.pass(Duration.ofDays(60));
        assertThat(publisher.publish(entries.entry(entry.id(), 50), KEY)).isDivergent();
        assertStored(entry);
    }

    private void prepare(Before before) {
        switch (before) {
            case NOTHING -> {}
            case SAME -> place(entry);
            case OTHER -> place(entries.entry(entry.id(), 321));
            case DAMAGED -> store.place(KEY, entries.bytes(99));
        }
    }

    private List<Object> snapshot() {
        return store.keys().isEmpty()
                ? List.of()
                : List.of(MemorySegment.ofArray(store.body(KEY)).asByteBuffer());
    }
}
