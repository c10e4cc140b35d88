package dev.granary.s3.contract;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.Race;
import dev.granary.testing.TestSeed;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * Contract tests of {@link ObjectStore}; implementations extend this class and supply the store. If
 * the server deviates by design, {@link #deviations} names the deviations, and the checks assert
 * them.
 */
public abstract class ObjectStoreContract extends ServerChecks {
    private static final int RACERS = 32;
    private static final long LIMIT = 16 << 20;

    private final SplittableRandom random = TestSeed.random(getClass().getName());
    private @Nullable ObjectStore opened;
    private int keys;

    /** Opens a store for reading and writing. */
    protected abstract ObjectStore openStore();

    /** Opens a store whose bucket does not exist. */
    protected abstract ObjectStore openUnknownBucket();

    /** Opens a store with credentials unknown to the server. */
    protected abstract ObjectStore openWithWrongCredentials();

    /** Returns the prefix of all keys, with a trailing slash. */
    protected abstract String prefix();

    /**
     * Creates an object for a check and returns its ETag; without a condition, which some servers
     * do not support.
     */
    private String place(String key, byte[] body) {
        return assertThat(store().put(key, body)).isDone();
    }

    @BeforeEach
    final void open() {
        opened = openStore();
    }

    @AfterEach
    final void close() {
        store().close();
    }

    /** Returns the store under test. */
    protected final ObjectStore store() {
        return Objects.requireNonNull(opened);
    }

    private String key() {
        return prefix() + getClass().getSimpleName().toLowerCase(Locale.ROOT) + "/" + keys++ + "-"
                + random.nextInt(1 << 30);
    }

    @Test
    @DisplayName("an object that was never written is absent")
    void absent() {
        assertThat(store().get(key(), LIMIT)).isAbsent();
        assertThat(store().range(key(), 0, 10)).isAbsent();
        assertThat(store().head(key())).isAbsent();
        assertThat(store().delete(key())).isDone();
    }

    @Test
    @DisplayName("bodies are returned unchanged, from 0 bytes to 3 MiB")
    void roundTrip() {
        for (int length : new int[] {0, 1, 1023, 65_536, 3 << 20}) {
            String key = key();
            byte[] body = bytes(length);
            String etag = place(key, body);
            assertFalse(etag.isEmpty() || etag.contains("\""), etag);
            GetResult.Found found = assertThat(store().get(key, LIMIT)).isFound();
            assertArrayEquals(body, found.bytes().toArray(ValueLayout.JAVA_BYTE));
            assertEquals(etag, found.etag());
            HeadResult.Found head = assertThat(store().head(key)).isFound();
            assertEquals(length, head.bytes());
            assertEquals(etag, head.etag());
            assertTrue(head.dates().lastModifiedMillis() > 0);
            assertEquals(head.dates().lastModifiedMillis(), found.dates().lastModifiedMillis());
            assertAge(head.dates());
            assertAge(found.dates());
        }
    }

    @Test
    @DisplayName("all characters of our keys work")
    void characters() {
        String key =
                prefix() + "v2/opencl/AZaz09._-/e/0f/" + "0123456789abcdef".repeat(4) + ".pack";
        place(key, bytes(5));
        assertEquals(5, assertThat(store().get(key, LIMIT)).isFound().bytes().byteSize());
        List<String> listed = new ArrayList<>();
        store().list(key, object -> listed.add(object.key()));
        assertEquals(List.of(key), listed);
    }

    @Test
    @DisplayName("a read returns no more than its limit")
    void limit() {
        String key = key();
        place(key, bytes(1000));
        assertEquals(1000, assertThat(store().get(key, 1000)).isFound().bytes().byteSize());
        assertEquals(new GetResult.TooLarge(999), store().get(key, 999));
        assertEquals(new GetResult.TooLarge(0), store().get(key, 0));
    }

    @Test
    @DisplayName("a read of a known version is empty until the object changes; an object that is"
            + " gone is absent")
    void ifChanged() {
        String key = key();
        assertThat(store().getIfChanged(key, "0".repeat(32), LIMIT).orElseThrow())
                .isAbsent();
        String first = place(key, bytes(1000));
        for (int i = 0; i < 3; i++) {
            assertEquals(Optional.empty(), store().getIfChanged(key, first, LIMIT));
        }
        byte[] body = bytes(2000);
        String second = place(key, body);
        GetResult.Found found = assertThat(
                        store().getIfChanged(key, first, LIMIT).orElseThrow())
                .isFound();
        assertArrayEquals(body, found.bytes().toArray(ValueLayout.JAVA_BYTE));
        assertEquals(second, found.etag());
        assertAge(found.dates());
        assertEquals(
                Optional.of(new GetResult.TooLarge(1999)), store().getIfChanged(key, first, 1999));
        assertEquals(Optional.empty(), store().getIfChanged(key, second, LIMIT));
        assertThat(store().delete(key)).isDone();
        assertThat(store().getIfChanged(key, second, LIMIT).orElseThrow()).isAbsent();
    }

    @Test
    @DisplayName("a range is that part, and shorter at the end")
    void range() {
        String key = key();
        byte[] body = bytes(100);
        place(key, body);
        assertArrayEquals(
                Arrays.copyOfRange(body, 10, 30),
                assertThat(store().range(key, 10, 20))
                        .isFound()
                        .bytes()
                        .toArray(ValueLayout.JAVA_BYTE));
        assertEquals(5, assertThat(store().range(key, 95, 20)).isFound().bytes().byteSize());
    }

    private void assertOneWon(String key, List<WriteResult> results) {
        assertEquals(1, wins(results), results::toString);
        assertBody(key, body(winner(results)));
        assertOthersLost(results);
    }

    private void assertBody(String key, byte[] expected) {
        assertArrayEquals(
                expected,
                assertThat(store().get(key, LIMIT))
                        .isFound()
                        .bytes()
                        .toArray(ValueLayout.JAVA_BYTE));
    }

    @Test
    @DisplayName("of 32 concurrent creates exactly one wins, and the object has its body")
    void racingCreates() throws Exception {
        String key = key();
        List<WriteResult> results = Race.run(RACERS, i -> store().putIfAbsent(key, body(i)));
        if (deviates(Deviation.CONDITIONAL_PUT_REFUSED)) {
            results.forEach(ObjectStoreContract::assertRefused);
            assertThat(store().head(key)).isAbsent();
            return;
        }
        assertOneWon(key, results);
    }

    @Test
    @DisplayName(
            "of 32 concurrent replacements of one version exactly one wins, and the object has its"
                    + " body")
    void racingReplacements() throws Exception {
        String key = key();
        byte[] before = bytes(10);
        String etag = place(key, before);
        List<WriteResult> results =
                Race.run(RACERS, i -> store().replaceIfMatch(key, etag, body(i)));
        if (deviates(Deviation.CONDITIONAL_PUT_REFUSED)) {
            results.forEach(ObjectStoreContract::assertRefused);
            assertBody(key, before);
            return;
        }
        assertOneWon(key, results);
    }

    @Test
    @DisplayName(
            "a second create, a stale version and an absent object are failed preconditions and"
                    + " change nothing")
    void preconditions() {
        String key = key();
        String first = place(key, body(1));
        if (deviates(Deviation.CONDITIONAL_PUT_REFUSED)) {
            assertRefused(store().putIfAbsent(key, body(2)));
            assertRefused(store().replaceIfMatch(key, first, body(3)));
            assertRefused(store().replaceIfMatch(key(), first, body(5)));
            assertArrayEquals(
                    body(1),
                    assertThat(store().get(key, LIMIT))
                            .isFound()
                            .bytes()
                            .toArray(ValueLayout.JAVA_BYTE));
            return;
        }
        assertThat(store().putIfAbsent(key, body(2))).isPreconditionFailed();
        String second = assertThat(store().replaceIfMatch(key, first, body(3))).isDone();
        assertFalse(first.equals(second));
        assertThat(store().replaceIfMatch(key, first, body(4))).isPreconditionFailed();
        assertThat(store().replaceIfMatch(key(), first, body(5))).isPreconditionFailed();
        assertArrayEquals(
                body(3),
                assertThat(store().get(key, LIMIT))
                        .isFound()
                        .bytes()
                        .toArray(ValueLayout.JAVA_BYTE));
    }

    @Test
    @DisplayName("a deleted object is absent, and can be created again")
    void delete() {
        String key = key();
        place(key, bytes(10));
        assertThat(store().delete(key)).isDone();
        assertThat(store().get(key, LIMIT)).isAbsent();
        String etag = place(key, bytes(20));
        assertThat(store().deleteIfMatch(key, etag)).isDone();
        assertThat(store().head(key)).isAbsent();
    }

    @Test
    @DisplayName("a deletion of another version is a failed precondition and deletes nothing")
    void staleDeletion() {
        String key = key();
        String other = place(key(), bytes(11));
        place(key, bytes(10));
        WriteResult result = store().deleteIfMatch(key, other);
        if (deviates(Deviation.CONDITIONAL_DELETE_IGNORED)) {
            assertThat(result).isDone();
            assertThat(store().head(key)).isAbsent();
        } else {
            assertThat(result).isPreconditionFailed();
            assertThat(store().head(key)).isFound();
        }
    }

    @Test
    @DisplayName("a listing has each object below its prefix once, in order, over several pages")
    void list() throws Exception {
        String below = prefix() + "list-" + random.nextInt(1 << 30) + "/";
        Set<String> expected = new HashSet<>();
        List<Integer> writers = Race.run(RACERS, i -> {
            for (int j = 0; j < 32; j++) { // more than one page of 1000
                place(below + i + "/" + j, body(j));
            }
            return i;
        });
        for (int i : writers) {
            for (int j = 0; j < 32; j++) {
                expected.add(below + i + "/" + j);
            }
        }
        List<ObjectStore.Listed> listed = new ArrayList<>();
        ListResult result = store().list(below, listed::add);
        assertEquals(new ListResult.Complete(expected.size()), result);
        List<String> names = listed.stream().map(ObjectStore.Listed::key).toList();
        assertEquals(expected, new HashSet<>(names));
        assertEquals(expected.size(), names.size());
        assertEquals(names.stream().sorted().toList(), names);
        assertTrue(listed.stream()
                .allMatch(object -> object.bytes() == body(0).length
                        && !object.etag().isEmpty()
                        && object.lastModifiedMillis() > 0));
        assertEquals(new ListResult.Complete(0), store().list(below + "none/", object -> {}));
    }

    @Test
    @DisplayName("a write without a condition creates, and replaces any version")
    void plainWrite() {
        String key = key();
        String first = assertThat(store().put(key, body(1))).isDone();
        assertFalse(first.isEmpty() || first.contains("\""), first);
        GetResult.Found created = assertThat(store().get(key, LIMIT)).isFound();
        assertArrayEquals(body(1), created.bytes().toArray(ValueLayout.JAVA_BYTE));
        String second = assertThat(store().put(key, body(2))).isDone();
        GetResult.Found replaced = assertThat(store().get(key, LIMIT)).isFound();
        assertArrayEquals(body(2), replaced.bytes().toArray(ValueLayout.JAVA_BYTE));
        assertEquals(second, replaced.etag());
        if (deviates(Deviation.CONDITIONAL_PUT_REFUSED)) {
            assertRefused(store().putIfAbsent(key, body(3)));
        } else {
            assertThat(store().putIfAbsent(key, body(3))).isPreconditionFailed();
        }
    }

    @Test
    @DisplayName("an unknown bucket is distinguished from an absent object")
    void unknownBucket() {
        try (ObjectStore unknown = openUnknownBucket()) {
            assertEquals(
                    StoreFailure.Kind.NO_BUCKET,
                    assertThat(unknown.get(key(), LIMIT)).isUnavailable().kind());
            assertNotAllowed(
                    deviates(Deviation.CONDITIONAL_PUT_REFUSED)
                            ? StoreFailure.Kind.NOT_SUPPORTED
                            : StoreFailure.Kind.NO_BUCKET,
                    unknown.putIfAbsent(key(), bytes(1)));
            assertNotAllowed(StoreFailure.Kind.NO_BUCKET, unknown.put(key(), bytes(1)));
            assertThat(unknown.list(prefix(), object -> {})).isUnavailable();
        }
    }

    @Test
    @DisplayName("wrong credentials are not allowed, for any request")
    void wrongCredentials() {
        String key = key();
        String etag = place(key, bytes(1));
        try (ObjectStore wrong = openWithWrongCredentials()) {
            assertEquals(
                    StoreFailure.Kind.DENIED,
                    assertThat(wrong.get(key, LIMIT)).isUnavailable().kind());
            HeadResult head = wrong.head(key);
            assertEquals(
                    StoreFailure.Kind.DENIED,
                    assertThat(head).isUnavailable().kind(),
                    head::toString);
            assertEquals(
                    StoreFailure.Kind.DENIED,
                    assertThat(wrong.list(prefix(), object -> {}))
                            .isUnavailable()
                            .kind());
            // such a server refuses them to everyone
            boolean conditionsFirst = deviates(Deviation.CONDITIONAL_PUT_REFUSED);
            for (WriteResult write : List.of(
                    wrong.putIfAbsent(key(), bytes(1)),
                    wrong.replaceIfMatch(key, etag, bytes(1)))) {
                assertNotAllowed(
                        conditionsFirst
                                ? StoreFailure.Kind.NOT_SUPPORTED
                                : StoreFailure.Kind.DENIED,
                        write);
            }
            for (WriteResult write : List.of(
                    wrong.put(key, bytes(1)), wrong.deleteIfMatch(key, etag), wrong.delete(key))) {
                assertNotAllowed(StoreFailure.Kind.DENIED, write);
            }
        }
        assertThat(store().get(key, LIMIT)).isFound();
    }

    /** Checks that a new object is new by the server's own clock, independent of this machine's. */
    private static void assertAge(ServerTimestamps dates) {
        assertTrue(dates.age().orElseThrow().compareTo(Duration.ofMinutes(1)) < 0, dates::toString);
    }

    private static long wins(List<WriteResult> results) {
        return results.stream().filter(WriteResult.Done.class::isInstance).count();
    }

    private static int winner(List<WriteResult> results) {
        return results.indexOf(results.stream()
                .filter(WriteResult.Done.class::isInstance)
                .findFirst()
                .orElseThrow());
    }

    /**
     * Checks that the others lost: by a conflict, or a 5xx of a server that reports a lost
     * compare-and-swap like that.
     */
    private static void assertOthersLost(List<WriteResult> results) {
        for (WriteResult result : results) {
            assertThat(result).isNoneOf(WriteResult.NotAllowed.class, WriteResult.NotSent.class);
        }
    }

    private static void assertRefused(WriteResult result) {
        assertNotAllowed(StoreFailure.Kind.NOT_SUPPORTED, result);
    }

    private static void assertNotAllowed(StoreFailure.Kind kind, WriteResult result) {
        assertEquals(kind, assertThat(result).isNotAllowed().kind(), result::toString);
    }

    private byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private static byte[] body(int number) {
        return "body %04d".formatted(number).getBytes(UTF_8);
    }
}
