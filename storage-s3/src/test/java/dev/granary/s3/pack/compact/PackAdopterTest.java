package dev.granary.s3.pack.compact;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.ForwardingStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Head;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Adoption of packs that no head names, after the head or its base was lost. */
class PackAdopterTest {
    private static final Duration GRACE = Duration.ofDays(1);
    private static final String HEAD = PackFixture.KEYS.head();

    private final PackFixture bucket = new PackFixture("PackAdopterTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("PackAdopterTest");

    private List<Entry> entries(int count) {
        return Stream.generate(() -> entries.entry(100)).limit(count).toList();
    }

    private void assertFound(List<Entry> all) {
        all.forEach(entry -> assertTrue(bucket.isFound(entry)));
    }

    private void assertNoneBelowBoundary() {
        Head head = bucket.head();
        bucket.packs().forEach(pack -> assertTrue(head.admits(pack.name())));
    }

    @Test
    @DisplayName("the head is gone, emptied, or a page: every sound pack is named again, under a"
            + " name of the new register, and once however often it is adopted")
    void lostHead() throws CompactionException {
        List<Entry> all = new ArrayList<>();
        int packs = 0;
        for (String lost : List.of("", "<html></html>", "gone")) {
            List<Entry> some = entries(4);
            all.addAll(some);
            bucket.publish(bucket.pack(some.subList(0, 2)));
            bucket.publish(bucket.pack(some.subList(2, 4)));
            packs += 2;
            store.pass(Duration.ofMinutes(1));
            if (lost.equals("gone")) {
                store.remove(HEAD);
            } else {
                store.place(HEAD, lost.getBytes(UTF_8));
            }
            assertEquals(packs, bucket.adopter().run());
            assertNoneBelowBoundary();
            assertEquals(0, bucket.adopter().run());
            assertEquals(packs, bucket.packs().size());
            assertFound(all);
        }
        bucket.remover().run(GRACE);
        store.pass(GRACE);
        assertTrue(bucket.remover().run(GRACE).removed() >= packs);
        assertEquals(packs, bucket.packObjects());
        assertFound(all);
    }

    @Test
    @DisplayName(
            "the server drops the head that names an adopted pack, which it reports as written:"
                    + " the adoption fails, and the next one succeeds")
    void droppedHead() throws CompactionException {
        List<Entry> all = entries(2);
        bucket.publish(bucket.pack(all));
        bucket.publish(bucket.pack(entries(2)));
        store.pass(Duration.ofMinutes(1));
        store.remove(HEAD);
        bucket.publish(bucket.pack(entries(2))); // a head, so that the adoption replaces it
        PackAdopter dropping = bucket.adopter(bucket.dropping(HEAD));
        String failure = assertThrows(CompactionException.class, dropping::run).getMessage();
        assertTrue(String.valueOf(failure).contains("is not there"), failure);
        assertTrue(bucket.adopter().run() > 0);
        assertFound(all);
    }

    @Test
    @DisplayName("a head that changes while it is taken for damaged is not replaced")
    void headMended() {
        List<Entry> all = entries(2);
        bucket.publish(bucket.pack(all));
        byte[] sound = store.body(HEAD);
        store.place(HEAD, new byte[0]);
        PackAdopter adopter = bucket.adopter(new ForwardingStore(store) {
            @Override
            public HeadResult head(String key) {
                HeadResult result = super.head(key);
                store.script(
                        new Fault.None(),
                        new Fault.None(),
                        new Fault.Meanwhile(() -> store.place(HEAD, sound)));
                return result;
            }
        });
        assertThrows(CompactionException.class, adopter::run);
        assertEquals(1, bucket.packs().size());
        assertFound(all);
    }

    @Test
    @DisplayName("one wrong answer for a head or a base costs no pack its name")
    void oneWrongAnswer() throws CompactionException {
        List<Entry> all = entries(4);
        bucket.publish(bucket.pack(all.subList(0, 2)));
        bucket.publish(bucket.pack(all.subList(2, 4)));
        bucket.compact();
        ObjectName base = bucket.head().base().orElseThrow();
        for (String key : List.of(HEAD, PackFixture.KEYS.base(base))) {
            PackAdopter adopter = bucket.adopter(new ForwardingStore(store) {
                private boolean hasAnswered;

                @Override
                public GetResult get(String read, long limit) {
                    GetResult result = super.get(read, limit);
                    if (hasAnswered || !read.equals(key)) {
                        return result;
                    }
                    hasAnswered = true;
                    GetResult.Found found = assertInstanceOf(GetResult.Found.class, result);
                    return new GetResult.Found(
                            found.bytes().asSlice(0, found.bytes().byteSize() / 2),
                            found.etag(),
                            found.dates());
                }
            });
            assertEquals(0, adopter.run());
            assertEquals(base, bucket.head().base().orElseThrow());
        }
        assertFound(all);
    }

    @Test
    @DisplayName("a lost base is mended: compaction and removal stop before, and go on after")
    void lostBase() throws CompactionException {
        List<Entry> all = entries(6);
        bucket.publish(bucket.pack(all.subList(0, 2)));
        bucket.publish(bucket.pack(all.subList(2, 4)));
        bucket.compact();
        bucket.publish(bucket.pack(all.subList(4, 6)));
        ObjectName base = bucket.head().base().orElseThrow();
        store.remove(PackFixture.KEYS.base(base));
        assertFalse(bucket.isFound(all.getFirst()));
        assertTrue(bucket.isFound(all.getLast()));
        assertTrue(assertThrows(CompactionException.class, bucket::compact)
                .toString()
                .contains("compact --adopt"));
        assertThrows(CompactionException.class, () -> bucket.remover().run(GRACE));
        assertEquals(1, bucket.adopter().run(), "packs that left are not adopted");
        assertFound(all);
        bucket.compact();
        bucket.remover().run(GRACE);
        store.pass(GRACE);
        bucket.remover().run(GRACE);
        assertEquals(1, bucket.packObjects());
        assertFound(all);
    }

    @Test
    @DisplayName("a base that cannot be read now is no loss: the head stays")
    void silentBase() throws CompactionException {
        bucket.publish(bucket.pack(entries(2)));
        bucket.publish(bucket.pack(entries(2)));
        bucket.compact();
        String nonce = bucket.head().nonce();
        store.plan(FaultPlan.when(
                request -> request.key().contains("/m/"), new Fault.Lost(Fault.TIMEOUT)));
        assertThrows(CompactionException.class, () -> bucket.adopter().run());
        store.plan(FaultPlan.SOUND);
        assertEquals(nonce, bucket.head().nonce());
    }

    @Test
    @DisplayName("only sound packs of this target are adopted")
    void unsound() throws CompactionException, RegisterException {
        long generation = bucket.register().readOrCreate().head().generation();
        PackInfo damaged = bucket.place(bucket.pack(entries(2)), generation);
        byte[] body = store.body(PackFixture.KEYS.pack(damaged.name()));
        body[body.length / 2] ^= 1;
        store.place(PackFixture.KEYS.pack(damaged.name()), body);
        PackBuilder other = new PackBuilder("opencl/other", bucket.random());
        other.add(PackFixture.hash(bucket.random()), new byte[10], 1);
        bucket.place(other.build(), generation);
        for (int bytes : List.of(0, 10, 95, 96, 1_000)) {
            byte[] random = entries.bytes(bytes);
            store.place(
                    PackFixture.KEYS.pack(new ObjectName(generation, Sha256.of(random))), random);
        }
        List<Entry> all = entries(2);
        bucket.place(bucket.pack(all), generation);
        assertEquals(1, bucket.adopter().run());
        assertFound(all);
    }

    @Test
    @DisplayName("more packs than a head has room for are folded; what is silent stops it, and the"
            + " next run adopts the rest")
    void many() throws CompactionException, RegisterException {
        List<Entry> all = entries(Head.FOLDED + 10);
        long generation = bucket.register().readOrCreate().head().generation();
        for (Entry entry : all) {
            bucket.place(bucket.pack(entry), generation);
        }
        store.plan(FaultPlan.once(
                request -> request.operation().equals("GET") && request.key().endsWith(".pack"),
                5,
                new Fault.Lost(Fault.TIMEOUT)));
        assertThrows(CompactionException.class, () -> bucket.adopter().run());
        store.plan(FaultPlan.SOUND);
        assertEquals(5, bucket.packs().size());
        assertEquals(all.size() - 5, bucket.adopter().run());
        Set<ObjectName> names =
                bucket.packs().stream().map(PackInfo::name).collect(Collectors.toSet());
        assertEquals(all.size(), names.size());
        assertFound(all);
    }
}
