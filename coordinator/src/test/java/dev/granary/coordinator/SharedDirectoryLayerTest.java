package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.coordinator.machine.Totals;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;

/** Shared directories as layers of several machines. */
class SharedDirectoryLayerTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");
    private static final FakeDescriptor B = FakeDescriptor.of("b");

    private final Path home;
    private final Path shared;
    private final FakeEngine engine = new FakeEngine("one");
    private final Map<Id, StoreResult> published = new ConcurrentHashMap<>();

    SharedDirectoryLayerTest(@TempDir Path home) {
        this.home = home;
        this.shared = home.resolve("shared");
    }

    private Granary open(String machine, String... layers) throws Exception {
        return Granary.builder()
                .config(new TestNode(home.resolve(machine), new FakeBucket())
                        .config()
                        .bucket(String.join(" ", layers))
                        .flushLimit(TestNode.LONG)
                        .bucketWait(TestNode.LONG)
                        .claimWait(Duration.ofSeconds(1)) // a removed entry leaves its claim
                        .build())
                .published((_, id, result) -> published.put(id, result))
                .open();
    }

    private static LayerStatistics layer(Granary granary, int position) {
        return granary.statistics().layers().get(position);
    }

    @Test
    @DisplayName("A compiled entry is published to the directory, and another machine restores it;"
            + " all is counted")
    void twoMachines() throws Exception {
        String layer = "file://" + shared;
        try (Granary granary = open("one", layer)) {
            assertFalse(Files.exists(shared), "opening creates nothing");
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(layer, layer(granary, 0).name());
            assertEquals(
                    1,
                    layer(granary, 0).count(Counter.LAYER_LOOKUPS)
                            - layer(granary, 0).count(Counter.LAYER_HITS));
            assertEquals(1, layer(granary, 0).count(Counter.LAYER_STORED));
        }
        assertInstanceOf(StoreResult.Stored.class, published.get(A.getId()));
        assertEquals(1, StoredEntry.in(shared).size());
        try (Granary granary = open("two", layer)) {
            LookupResult<FakePrimitive> result = granary.lookup(engine, A);
            assertEquals(PrimitiveSource.BUCKET, result.source());
            assertEquals(OptionalInt.of(0), result.layer());
        }
        Map<String, Long> totals = new Totals(home.resolve("two")).read();
        assertEquals(List.of(1L, 0L), List.of(totals.get("layer-hits"), totals.get("compiled")));
        assertEquals(1, engine.compiles.get());
    }

    @Test
    @DisplayName("A read-only seed is read first and gets nothing; compiled entries go to the first"
            + " writable layer")
    void seed() throws Exception {
        try (Granary granary = open("builder", "file://" + home.resolve("seed"))) {
            granary.lookup(engine, A);
        }
        List<StoredEntry> seed = StoredEntry.in(home.resolve("seed"));
        String[] layers = {"file://" + home.resolve("seed") + "?access=read", "file://" + shared};
        try (Granary granary = open("one", layers)) {
            assertEquals(OptionalInt.of(0), granary.lookup(engine, A).layer());
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, B).source());
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(0, layer(granary, 0).count(Counter.LAYER_STORED));
            assertEquals(1, layer(granary, 1).count(Counter.LAYER_STORED));
        }
        assertEquals(1, seed.size());
        assertEquals(1, StoredEntry.in(home.resolve("seed")).size());
        assertEquals(1, StoredEntry.in(shared).size());
    }

    @Test
    @DisplayName("A missing read-only directory is a counted miss and is not created; one that is"
            + " no directory delays and fails nothing")
    void missing() throws Exception {
        Path file = Files.writeString(home.resolve("file"), "text");
        try (Granary granary = open("one", "file://" + shared + "?access=read", "file://" + file)) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            assertEquals(
                    1,
                    layer(granary, 0).count(Counter.LAYER_LOOKUPS)
                            - layer(granary, 0).count(Counter.LAYER_HITS));
        }
        assertFalse(Files.exists(shared));
        assertInstanceOf(StoreResult.Failed.class, published.get(A.getId()));
    }

    @Test
    @DisplayName("An upload that failed is made by a later process, once the directory is there")
    void laterProcess() throws Exception {
        Files.writeString(shared, "in the way");
        String layer = "file://" + shared;
        try (Granary granary = open("one", layer)) {
            granary.lookup(engine, A);
        }
        assertInstanceOf(StoreResult.Failed.class, published.get(A.getId()));
        Files.delete(shared);
        try (Granary granary = open("one", layer)) {
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(1, StoredEntry.in(shared).size());
        assertEquals(1, engine.compiles.get());
    }

    @Test
    @DisplayName("A damaged entry is a counted miss, and is replaced by the compiled one")
    void damaged() throws Exception {
        String layer = "file://" + shared;
        try (Granary granary = open("one", layer)) {
            granary.lookup(engine, A);
        }
        StoredEntry.in(shared).getFirst().overwrite(new byte[3]);
        try (Granary granary = open("two", layer)) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, layer(granary, 0).count(Counter.LAYER_DAMAGED));
        }
        try (Granary granary = open("three", layer)) {
            assertEquals(PrimitiveSource.BUCKET, granary.lookup(engine, A).source());
        }
    }
}
