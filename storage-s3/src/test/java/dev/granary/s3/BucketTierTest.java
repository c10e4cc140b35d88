package dev.granary.s3;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.ERROR_500;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.GetResult;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Tests of the bucket tier over an in-memory object store with scripted faults and a manual clock.
 */
class BucketTierTest {
    private final TestEntries entries = new TestEntries(BucketTierTest.class.getName());
    private final MemoryObjectStore store = new MemoryObjectStore();
    private final TestTicker ticker = new TestTicker();
    private final S3Config config = S3Config.builder("bucket")
            .prefix("team/kernels")
            .refreshInterval(Duration.ZERO)
            .build();
    private final BucketTier tier =
            new BucketTier(config, _ -> store, ticker, TestSeed.random("BucketTierTest"));

    private static String key(Id id) {
        String hash = id.hash().hex();
        return "team/kernels/v2/" + id.target().path() + "/e/" + hash.substring(0, 2) + "/" + hash;
    }

    private LoadResult.Damaged damaged(Id id) {
        return assertThat(tier.load(id)).isDamaged();
    }

    @Test
    @DisplayName("on a fresh prefix a publication is one PUT under the key of the layout, a hit is"
            + " one GET, a miss is a read: nothing probes and nothing reads the marker")
    void requests() {
        Entry entry = entries.entry(1000);
        tier.store(entry);
        assertThat(tier.load(entry.id())).isHitOf(entry);
        assertThat(tier.load(entries.id())).isAbsent();
        assertEquals(List.of("PUT none-match", "GET", "GET"), store.requests());
        assertEquals(List.of(key(entry.id())), store.keys());
        assertEquals(
                new BucketTierStatistics.Requests(2, 0, 1, 0, 0),
                tier.statistics().requests());
        Entry next = entries.entry(1000);
        store.forgetRequests();
        tier.store(next);
        assertThat(tier.load(next.id())).isHitOf(next);
        assertEquals(List.of("PUT none-match", "GET"), store.requests());
    }

    @Test
    @DisplayName("an absent id is requested once in 5 s, and a store makes it known at once")
    void absenceIsCached() {
        Entry entry = entries.entry(10);
        for (int i = 0; i < 100; i++) {
            assertThat(tier.load(entry.id())).isAbsent();
        }
        assertEquals(List.of("GET"), store.requests());
        ticker.pass(Duration.ofSeconds(5));
        assertThat(tier.load(entry.id())).isAbsent();
        assertEquals(List.of("GET", "GET"), store.requests());
        tier.store(entry);
        assertThat(tier.load(entry.id())).isHitOf(entry);
    }

    @Test
    @DisplayName(
            "an absent response in flight while the entry is stored does not hide it afterwards")
    void absentRace() {
        Entry entry = entries.entry(10);
        BucketTier[] other = new BucketTier[1];
        MemoryObjectStore late = new MemoryObjectStore() {
            @Override
            public GetResult get(String key, long limit) {
                GetResult result = super.get(key, limit);
                if (result instanceof GetResult.Absent) {
                    // by another thread, while this response is in flight
                    other[0].store(entry);
                }
                return result;
            }
        };
        other[0] = new BucketTier(config, _ -> late, ticker, TestSeed.random("absentRace"));
        assertThat(other[0].load(entry.id())).isAbsent();
        assertThat(other[0].load(entry.id())).isHitOf(entry);
    }

    @Test
    @DisplayName("any changed byte, any truncation, trailing bytes: damaged, healed by the next"
            + " store")
    void corruptionMatrix() {
        Entry entry = entries.entry(40);
        tier.store(entry);
        String key = key(entry.id());
        byte[] sound = store.body(key);
        List<byte[]> broken = new ArrayList<>();
        for (int i = 0; i < sound.length; i++) {
            byte[] changed = sound.clone();
            changed[i] ^= (byte) (1 << entries.random().nextInt(8));
            broken.add(changed);
            broken.add(Arrays.copyOf(sound, i));
        }
        broken.add(Arrays.copyOf(sound, sound.length + 1));
        for (byte[] body : broken) {
            store.place(key, body);
            damaged(entry.id());
        }
        assertThat(tier.store(entry)).isStored();
        assertThat(tier.load(entry.id())).isHitOf(entry);
    }

    @Test
    @DisplayName("an empty body, an HTML page, the bytes of another entry: damaged with its reason,"
            + " never a hit, never absent")
    void foreignBodies() {
        Entry entry = entries.entry(100);
        Entry other = entries.entry(100);
        tier.store(other);
        store.place(key(entry.id()), new byte[0]);
        assertEquals(DamageKind.TRUNCATED, damaged(entry.id()).damage());
        store.place(key(entry.id()), "<html><body>Sign in</body></html>".getBytes(UTF_8));
        assertEquals(DamageKind.FOREIGN, damaged(entry.id()).damage());
        store.place(key(entry.id()), store.body(key(other.id())));
        assertEquals(DamageKind.WRONG_KEY, damaged(entry.id()).damage());
    }

    @Test
    @DisplayName("the first entry stays, and the difference is reported")
    void divergent() {
        Entry first = entries.entry(100);
        tier.store(first);
        assertThat(tier.store(entries.entry(first.id(), 120))).isDivergent();
        assertThat(tier.load(first.id())).isHitOf(first);
    }

    @Test
    @DisplayName(
            "a read-only bucket never receives a write that could succeed, neither from a store"
                    + " nor from a check")
    void readOnlyConfiguration() {
        Entry known = entries.entry(10);
        tier.store(known);
        store.forgetRequests();
        S3Config readOnly = S3Config.builder(config.location())
                .access(S3Access.READ)
                .refreshInterval(Duration.ZERO)
                .build();
        BucketTier reader =
                new BucketTier(readOnly, _ -> store, ticker, TestSeed.random("onlyRead"));
        assertThat(reader.store(entries.entry(10))).isRefused();
        assertThat(reader.load(known.id())).isHitOf(known);
        List<String> keys = store.keys();
        assertEquals(2, reader.check().size(), "may also write");
        assertEquals(List.of("GET", "GET", "PUT match"), store.requests());
        assertEquals(keys, store.keys());
    }

    @Test
    @DisplayName("a failing bucket receives no requests for a while, lookups fail at once, and it"
            + " recovers after the pause")
    void breaker() {
        Entry entry = entries.entry(10);
        tier.store(entry);
        for (int i = 0; tier.statistics().breaker() == BucketTierStatistics.Breaker.CLOSED; i++) {
            assertTrue(i < 20, "the breaker never opens");
            // a failure that a retry heals does not count
            store.script(new Fault.Lost(TIMEOUT), new Fault.Lost(TIMEOUT), new Fault.Lost(TIMEOUT));
            assertThat(tier.load(entry.id())).isUnavailable();
        }
        store.forgetScript();
        int requested = store.requests().size();
        for (int i = 0; i < 1000; i++) {
            assertThat(tier.load(entry.id())).isUnavailable();
        }
        assertThat(tier.store(entries.entry(10))).isFailed();
        assertEquals(requested, store.requests().size());
        assertEquals(BucketTierStatistics.Breaker.OPEN, tier.statistics().breaker());
        ticker.pass(config.breakerPause().plusMillis(1));
        for (int i = 0; i < 5; i++) {
            assertThat(tier.load(entry.id())).isHitOf(entry);
        }
        assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
    }

    @Test
    @DisplayName("absent, refused and present are responses: they never open the breaker")
    void responsesAreNoFailures() {
        Entry entry = entries.entry(10);
        for (int i = 0; i < 50; i++) {
            tier.load(entries.id());
            tier.store(entry);
            store.script(new Fault.Lost(DENIED));
            assertThat(tier.load(entry.id())).isUnavailable();
        }
        assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
    }

    @Test
    @DisplayName("opening sends no request and creates no client; a client that cannot be created"
            + " is a miss")
    void opening() {
        assertEquals(List.of(), store.requests());
        BucketTier broken = new BucketTier(
                config,
                _ -> {
                    throw new IllegalStateException("No region: set AWS_REGION");
                },
                ticker,
                TestSeed.random("opening"));
        String cause = assertThat(broken.load(entries.id())).isUnavailable();
        assertTrue(cause.contains("AWS_REGION"), cause);
        assertThat(broken.store(entries.entry(1))).isFailed();
        broken.close();
    }

    @Test
    @DisplayName(
            "one server error is retried transparently; a listing names the entries and nothing"
                    + " else, each readable")
    void catalog() throws Exception {
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            all.add(entries.entry(100 + i));
            tier.store(all.get(i));
        }
        store.place(
                "team/kernels/v2/" + TestEntries.TARGET.path() + "/c/" + "0".repeat(64),
                new byte[1]);
        store.place(
                "team/kernels/v2/" + TestEntries.TARGET.path() + "/e/00/" + "1".repeat(64),
                new byte[1]);
        store.place("team/other/v2/x/y/e/00/" + "0".repeat(64), new byte[1]);
        List<EntryCatalog.Listed> listed = new ArrayList<>();
        tier.list(listed::add);
        assertEquals(5, listed.size());
        store.script(new Fault.Lost(ERROR_500));
        for (EntryCatalog.Listed one : listed) {
            Entry read = assertThat(tier.read(one)).isHit();
            assertEquals(one.hash(), read.id().hash());
            assertEquals(store.body(key(read.id())).length, one.bytes());
        }
        assertEquals(1, tier.statistics().retries());
        // heads may be compared first
        store.plan(FaultPlan.when(
                request -> request.operation().equals("LIST"), new Fault.Lost(ERROR_500)));
        assertThrows(IOException.class, () -> tier.list(listed::add));
    }

    @Test
    @DisplayName("an entry under the key of another is damaged, also in a listing")
    void misplaced() throws Exception {
        Entry entry = entries.entry(10);
        tier.store(entry);
        String wrong = key(entries.id());
        store.place(wrong, store.body(key(entry.id())));
        store.remove(key(entry.id()));
        List<EntryCatalog.Listed> listed = new ArrayList<>();
        tier.list(listed::add);
        assertThat(tier.read(listed.get(0))).isDamaged(DamageKind.WRONG_KEY);
    }

    @Test
    @DisplayName(
            "a discard is ignored: one machine's faulty driver does not empty the fleet's bucket")
    void discard() {
        Entry entry = entries.entry(10);
        tier.store(entry);
        tier.discard(entry);
        assertThat(tier.load(entry.id())).isHitOf(entry);
    }
}
