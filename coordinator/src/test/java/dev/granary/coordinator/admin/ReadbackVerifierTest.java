package dev.granary.coordinator.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Entries that are read back from a real server, and the trial before anything is done for a bucket. */
class ReadbackVerifierTest {
    private static final Duration NEVER = Duration.ofDays(1);
    private static final long HANG_SECONDS = 600; // ends what hangs

    private final TestFleet fleet;
    private final List<Entry> entries = IntStream.range(0, 3)
            .mapToObj(i -> TestEntries.entry(TestEntries.id("read back " + i), KernelBinaries.of(new byte[100]))).toList();
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
        return new ReadbackVerifier(layers(buckets), NEVER, Duration.ZERO).unreadable(ids, progress);
    }

    private Map<Id, String> unreadable() throws Exception {
        return unreadable("s3://kernels/ci", _ -> {});
    }

    /** How often each request came that is one for an entry. */
    private long gets() {
        return fleet.asked().stream().filter("GET entry"::equals).count();
    }

    private void onEntry(Id id, FaultPlan plan) {
        fleet.plan(request -> request.operation().equals("GET") && request.key().endsWith(id.hash().hex()) ? plan.next(request) : new Fault.None());
    }

    @Test
    @DisplayName("A1 R12 U16 each entry is read once, and told; whether there are packs is asked once")
    void once() throws Exception {
        fleet.publishAlone(entries);
        fleet.asked();
        List<Integer> told = Collections.synchronizedList(new ArrayList<>());
        assertEquals(Map.of(), unreadable("s3://kernels/ci", told::add));
        List<String> asked = fleet.asked().stream().sorted().toList();
        assertEquals(List.of("GET entry", "GET entry", "GET entry", "GET hint"), asked);
        assertEquals(List.of(1, 2, 3), told.stream().sorted().toList());
    }

    @Test
    @DisplayName("A1 what fails once is read again, and nothing else; what fails three times cannot be read, with its cause")
    void rounds() throws Exception {
        fleet.publishAlone(entries);
        fleet.asked();
        onEntry(ids.get(1), FaultPlan.script(new Fault.Lost(Fault.DENIED)));
        assertEquals(Map.of(), unreadable());
        assertEquals(3 + 1, gets());
        onEntry(ids.get(1), FaultPlan.script(new Fault.Lost(Fault.DENIED), new Fault.Lost(Fault.DENIED)));
        assertEquals(Map.of(), unreadable());
        assertEquals(3 + 2, gets());
        onEntry(ids.get(1), FaultPlan.always(new Fault.Lost(Fault.DENIED)));
        Map<Id, String> unreadable = unreadable();
        assertEquals(Set.of(ids.get(1)), unreadable.keySet());
        assertTrue(String.valueOf(unreadable.get(ids.get(1))).contains("AccessDenied"), unreadable::toString);
        assertEquals(3 + 2, gets());
    }

    @Test
    @DisplayName("A1 S3 what is absent or damaged cannot be read, each with its cause")
    void absentAndDamaged() throws Exception {
        fleet.publishAlone(entries);
        fleet.remove(ids.get(0).hash().hex());
        fleet.change(fleet.keys(ids.get(1).hash().hex()).getFirst(), bytes -> Arrays.copyOf(bytes, bytes.length / 2));
        Map<Id, String> unreadable = unreadable();
        assertEquals(Set.of(ids.get(0), ids.get(1)), unreadable.keySet());
        assertEquals("it is not there", unreadable.get(ids.get(0)));
        assertTrue(String.valueOf(unreadable.get(ids.get(1))).startsWith("what is there is damaged ("), unreadable::toString);
    }

    @Test
    @DisplayName("A1 of several buckets one that has a sound entry is enough, and none after it is asked; else the cause of each is told by its name")
    void severalBuckets() throws Exception {
        fleet.publishAlone(entries);
        fleet.asked();
        assertEquals(Map.of(), unreadable("s3://kernels/other s3://kernels/ci", _ -> {}));
        assertEquals(2 * 3, gets());
        assertEquals(Map.of(), unreadable("s3://kernels/ci s3://kernels/other", _ -> {}));
        assertEquals(3, gets());
        fleet.remove(ids.get(2).hash().hex());
        List<BucketConfig> both = layers("s3://kernels/ci s3://kernels/other");
        assertEquals(Map.of(ids.get(2), both.get(0).name() + ": it is not there; " + both.get(1).name() + ": it is not there"),
                unreadable("s3://kernels/ci s3://kernels/other", _ -> {}));
    }

    @Test
    @DisplayName("A7 what ends in an exception is not read")
    void exception() throws Exception {
        fleet.publishAlone(entries);
        Map<Id, String> unreadable = unreadable("s3://kernels/ci", _ -> {
            throw new IllegalStateException("of a test");
        });
        assertEquals(Set.copyOf(ids), unreadable.keySet());
        unreadable.values().forEach(cause -> assertTrue(cause.contains("of a test"), cause));
    }

    @Test
    @DisplayName("A9 without an entry for longer than the silence: nothing more is asked for, and no other round begins")
    void silence() throws Exception {
        fleet.publishAlone(entries);
        fleet.asked();
        ReadbackVerifier silent = new ReadbackVerifier(layers("s3://kernels/ci"), Duration.ZERO, NEVER);
        CompletableFuture<Map<Id, String>> ended = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> {
            try {
                ended.complete(silent.unreadable(ids, _ -> {}));
            } catch (Exception e) {
                ended.completeExceptionally(e);
            }
        });
        Map<Id, String> unreadable = ended.get(HANG_SECONDS, TimeUnit.SECONDS);
        assertEquals(Set.copyOf(ids), unreadable.keySet());
        unreadable.values().forEach(cause -> assertEquals("nothing could be read for 0 s", cause));
        assertEquals(0, gets());
    }

    @Test
    @DisplayName("A1 the trial of a bucket is one request, and its problem is told with the cure; 403 for what is absent is none")
    void trial() throws Exception {
        BucketConfig bucket = layers("s3://kernels/ci").getFirst();
        fleet.asked();
        assertEquals(Optional.empty(), BucketTrial.problem(bucket));
        assertEquals(1, fleet.asked().size());
        String missing = BucketTrial.problem(layers("s3://no-such-bucket/ci").getFirst()).orElseThrow();
        assertTrue(missing.matches("there is no bucket no-such-bucket.*; .*create it.*"), missing);
        fleet.plan(FaultPlan.always(new Fault.Lost(Fault.DENIED)));
        assertEquals(Optional.empty(), BucketTrial.problem(bucket));
        fleet.plan(FaultPlan.always(new Fault.Lost(Fault.EXPIRED)));
        assertTrue(BucketTrial.problem(bucket).isPresent());
        fleet.plan(FaultPlan.always(new Fault.Page(Fault.Moment.AFTER)));
        assertTrue(BucketTrial.problem(bucket).isPresent(), "what answers everything is no S3 server");
    }
}
