package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.kernel.Population.ReadbackVerifier;
import dev.granary.cli.option.StoreOptions;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/** Readback of entries from a real server, and the test of a bucket before a long operation. */
class ReadbackVerifierTest {
    private static final Duration NEVER = Duration.ofDays(1);
    private static final long TIMEOUT_SECONDS = 600; // ends a hanging test

    private final TestFleet fleet;
    private final List<Entry> entries = IntStream.range(0, 3)
            .mapToObj(i -> TestEntries.entry(
                    TestEntries.id("read back " + i), KernelBinaries.of(new byte[100])))
            .toList();
    private final List<Id> ids = entries.stream().map(Entry::id).toList();

    ReadbackVerifierTest(@TempDir Path directory) throws Exception {
        this.fleet = new TestFleet(directory);
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private List<BucketConfig> layers(String buckets) throws Exception {
        return fleet.config("ci", buckets).build().buckets();
    }

    private Map<Id, String> unreadable(String buckets, IntConsumer progress) throws Exception {
        return new ReadbackVerifier(layers(buckets).getFirst(), NEVER, Duration.ZERO)
                .unreadable(ids, progress);
    }

    private Map<Id, String> unreadable() throws Exception {
        return unreadable("s3://kernels/ci", _ -> {});
    }

    /** Returns the number of requests for entries. */
    private long entryRequests() {
        return fleet.requests().stream().filter("GET entry"::equals).count();
    }

    private void onEntry(Id id, FaultPlan plan) {
        fleet.plan(request -> request.operation().equals("GET")
                        && request.key().endsWith(id.hash().hex())
                ? plan.next(request)
                : new Fault.None());
    }

    @Test
    @DisplayName("each entry is read once and reported; packs are requested once")
    void once() throws Exception {
        fleet.publishUnpacked(entries);
        fleet.requests();
        List<Integer> counts = Collections.synchronizedList(new ArrayList<>());
        assertEquals(Map.of(), unreadable("s3://kernels/ci", counts::add));
        List<String> requests = fleet.requests().stream().sorted().toList();
        assertEquals(List.of("GET entry", "GET entry", "GET entry", "GET head"), requests);
        assertEquals(List.of(1, 2, 3), counts.stream().sorted().toList());
    }

    @Test
    @DisplayName("a failed read is repeated, and no other; after three failures the entry is"
            + " unreadable, with its cause")
    void rounds() throws Exception {
        fleet.publishUnpacked(entries);
        fleet.requests();
        onEntry(ids.get(1), FaultPlan.script(new Fault.Lost(Fault.DENIED)));
        assertEquals(Map.of(), unreadable());
        assertEquals(3 + 1, entryRequests());
        onEntry(
                ids.get(1),
                FaultPlan.script(new Fault.Lost(Fault.DENIED), new Fault.Lost(Fault.DENIED)));
        assertEquals(Map.of(), unreadable());
        assertEquals(3 + 2, entryRequests());
        onEntry(ids.get(1), FaultPlan.always(new Fault.Lost(Fault.DENIED)));
        Map<Id, String> unreadable = unreadable();
        assertEquals(Set.of(ids.get(1)), unreadable.keySet());
        assertTrue(
                String.valueOf(unreadable.get(ids.get(1))).contains("AccessDenied"),
                unreadable::toString);
        assertEquals(3 + 2, entryRequests());
    }

    @Test
    @DisplayName("an absent or damaged entry is unreadable, with its cause")
    void absentAndDamaged() throws Exception {
        fleet.publishUnpacked(entries);
        fleet.remove(ids.get(0).hash().hex());
        fleet.change(
                fleet.keys(ids.get(1).hash().hex()).getFirst(),
                bytes -> Arrays.copyOf(bytes, bytes.length / 2));
        Map<Id, String> unreadable = unreadable();
        assertEquals(Set.of(ids.get(0), ids.get(1)), unreadable.keySet());
        assertEquals("the entry is absent", unreadable.get(ids.get(0)));
        assertTrue(
                String.valueOf(unreadable.get(ids.get(1))).startsWith("the entry is damaged ("),
                unreadable::toString);
    }

    @Test
    @DisplayName("an exception makes an entry unreadable")
    void exception() throws Exception {
        fleet.publishUnpacked(entries);
        Map<Id, String> unreadable = unreadable("s3://kernels/ci", _ -> {
            throw new IllegalStateException("of a test");
        });
        assertEquals(Set.copyOf(ids), unreadable.keySet());
        unreadable.values().forEach(cause -> assertTrue(cause.contains("of a test"), cause));
    }

    @Test
    @DisplayName("without an entry before the timeout, no request and no other round follows")
    void timeout() throws Exception {
        fleet.publishUnpacked(entries);
        fleet.requests();
        ReadbackVerifier verifier =
                new ReadbackVerifier(layers("s3://kernels/ci").getFirst(), Duration.ZERO, NEVER);
        CompletableFuture<Map<Id, String>> result = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> {
            try {
                result.complete(verifier.unreadable(ids, _ -> {}));
            } catch (Exception e) {
                result.completeExceptionally(e);
            }
        });
        Map<Id, String> unreadable = result.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        assertEquals(Set.copyOf(ids), unreadable.keySet());
        unreadable.values().forEach(cause -> assertEquals("nothing could be read for 0 s", cause));
        assertEquals(0, entryRequests());
    }

    @Test
    @DisplayName("the test of a bucket is one request; a problem has a cure; 403 for an absent key"
            + " is no problem")
    void trial() throws Exception {
        BucketConfig bucket = layers("s3://kernels/ci").getFirst();
        fleet.requests();
        assertEquals(Optional.empty(), StoreOptions.problem(bucket));
        assertEquals(1, fleet.requests().size());
        String missing = StoreOptions.problem(layers("s3://no-such-bucket/ci").getFirst())
                .orElseThrow();
        assertTrue(missing.matches("there is no bucket no-such-bucket.*; .*create it.*"), missing);
        fleet.plan(FaultPlan.always(new Fault.Lost(Fault.DENIED)));
        assertEquals(Optional.empty(), StoreOptions.problem(bucket));
        fleet.plan(FaultPlan.always(new Fault.Lost(Fault.EXPIRED)));
        assertTrue(StoreOptions.problem(bucket).isPresent());
        fleet.plan(FaultPlan.always(new Fault.Page(Fault.Moment.AFTER)));
        assertTrue(
                StoreOptions.problem(bucket).isPresent(),
                "a server with one answer to everything is not S3");
    }
}
