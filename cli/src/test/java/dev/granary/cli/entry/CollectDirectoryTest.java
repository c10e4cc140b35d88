package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonObject;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.PinStore;
import dev.granary.cli.Cli;
import dev.granary.local.EntryFiles;
import dev.granary.local.SharedDirectory;
import dev.granary.s3.CollectionPlan;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Tests of {@code collect} of a shared directory, with files of several ages. */
@Timeout(60)
class CollectDirectoryTest {
    private static final String TARGET = TestEntries.TARGET.path();
    private static final int BYTES = 4000;

    private final Path shared;
    private final String place;
    private final SharedDirectory store;
    private final TestEntries entries = new TestEntries("CollectDirectoryTest");
    private final List<Entry> old = new ArrayList<>();
    private final List<Entry> used = new ArrayList<>();

    CollectDirectoryTest(@TempDir Path directory) {
        this.shared = directory.resolve("shared");
        this.place = "file://" + shared;
        this.store = new SharedDirectory(shared, true, TrustPolicy.OFF);
    }

    /** Stores two entries of 100 days, two of ten days, and one of today. */
    @BeforeEach
    void fill() throws Exception {
        old.addAll(List.of(stored(100), stored(101)));
        used.addAll(List.of(stored(10), stored(11), stored(0)));
    }

    private Entry stored(int daysAgo) throws IOException {
        Entry entry = entries.entry(BYTES);
        EntryFiles.shared(shared).store(entry);
        age(file(entry), daysAgo);
        return entry;
    }

    private Path file(Entry entry) {
        String hash = entry.id().hash().hex();
        return shared.resolve("v3/" + TARGET + "/" + hash.substring(0, 2) + "/" + hash + ".entry");
    }

    private static void age(Path file, int days) throws IOException {
        Instant time = Instant.now().minus(Duration.ofDays(days));
        Files.setLastModifiedTime(file, FileTime.from(time));
    }

    private Cli collect(String... options) {
        List<String> all = new ArrayList<>(List.of("collect", place));
        all.addAll(List.of(options));
        return Cli.run(all.toArray(String[]::new)).isNarrow();
    }

    private CollectionPlan plan() throws IOException {
        return CollectionPlan.of(
                EntryFiles.shared(shared),
                store.pins(),
                new CollectionPlan.Rules("", 90, Long.MAX_VALUE, false),
                System.currentTimeMillis());
    }

    private long collect(CollectionPlan plan) throws IOException {
        EntryFiles files = EntryFiles.shared(shared);
        CollectionPlan.Target target = plan.targets().iterator().next();
        target.collect(store.pins(), entry -> {
            try {
                return files.remove(entry);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        return target.leaving().entries();
    }

    private void assertStay(List<Entry> staying) throws IOException {
        Set<Path> files =
                StoredEntry.in(shared).stream().map(StoredEntry::file).collect(Collectors.toSet());
        assertEquals(staying.stream().map(this::file).collect(Collectors.toSet()), files);
    }

    private List<Entry> all() {
        return Stream.concat(old.stream(), used.stream()).toList();
    }

    @Test
    @DisplayName("a dry run shows by target what leaves, and changes nothing; --delete removes it")
    void collects() throws Exception {
        Cli dry = collect()
                .exits(0)
                .prints(
                        "in  " + place,
                        "2 entries (",
                        ") would leave, 3 entries (",
                        "1 entry (",
                        "stay, younger than a day",
                        "nothing was removed; --delete does it");
        assertFalse(dry.out().contains("compile"), "the time of compiles is not known");
        assertStay(all());
        JsonObject json = collect("--json").exits(0).json();
        assertEquals(2, json.get("leaving").getAsInt());
        assertEquals(place, json.get("bucket").getAsString());
        JsonObject target = json.getAsJsonArray("targets").get(0).getAsJsonObject();
        assertEquals(TARGET, target.get("target").getAsString());
        assertEquals(3, target.get("staying").getAsInt());
        collect("--delete").exits(0).prints("2 entries (", ") left, 3 entries (");
        assertStay(used);
        collect("--delete").exits(0).prints("0 entries (0 B) left");
    }

    @Test
    @DisplayName("an entry counts as used for a day more: a hit sets its time once a day")
    void resolution() throws Exception {
        age(file(old.getFirst()), 90);
        collect("--delete").exits(0).prints("1 entry (");
        assertStay(Stream.concat(old.stream().limit(1), used.stream()).toList());
    }

    @Test
    @DisplayName("over a budget the least recently used leave; what is pinned or of today stays")
    void budget() throws Exception {
        store.pins().write("release", List.of(old.getFirst().id()));
        collect("--budget", "14KiB", "--delete").exits(0).prints("1 entry (", "stay as pinned");
        assertStay(List.of(old.getFirst(), used.get(0), used.get(2)));
        collect("--budget", "1KiB", "--delete").exits(1).reports("more than the budget");
        assertStay(List.of(old.getFirst(), used.get(2)));
    }

    @Test
    @DisplayName("--all takes all entries of a target but those of today, and its directories")
    void allOfTarget() throws Exception {
        collect("--all", "--target", "level-zero", "--delete").exits(0).prints("0 entries (0 B)");
        collect("--all", "--target", TARGET, "--delete").exits(0).prints("4 entries (");
        assertStay(used.subList(2, 3));
        age(file(used.get(2)), 2);
        collect("--all", "--target", TARGET, "--delete").exits(0).prints("1 entry (");
        assertFalse(Files.exists(shared.resolve("v3").resolve(TARGET)));
    }

    @Test
    @DisplayName("pins are listed and removed; a damaged one ends the collection with its name")
    void pins() throws Exception {
        PinStore pins = store.pins();
        pins.write("nightly", old.stream().map(Entry::id).toList());
        JsonObject pin = collect("--pins", "--json")
                .exits(0)
                .json()
                .getAsJsonArray("pins")
                .get(0)
                .getAsJsonObject();
        assertEquals("nightly", pin.get("name").getAsString());
        assertEquals(2, pin.get("entries").getAsInt());
        collect("--delete").exits(0).prints("2 entries (", "stay as pinned");
        assertStay(all());
        Path file = shared.resolve("pin/nightly");
        Files.write(file, new byte[] {1}, StandardOpenOption.APPEND);
        collect("--delete").exits(1).reports(place + ": pin nightly is damaged");
        assertStay(all());
        collect("--unpin", "nightly").exits(0).prints("pin nightly removed");
        collect("--unpin", "nightly").exits(1).reports("there is no pin nightly");
        collect("--delete").exits(0);
        assertStay(used);
    }

    @Test
    @DisplayName("an entry that is used, replaced, published again or pinned after the plan stays")
    void meanwhile() throws Exception {
        old.addAll(List.of(stored(102), stored(103), stored(104)));
        CollectionPlan plan = plan();
        store.load(old.get(0).id());
        EntryFiles.shared(shared).store(old.get(1));
        store.store(old.get(2));
        store.pins().write("late", List.of(old.get(3).id()));
        assertEquals(1, collect(plan));
        old.remove(4);
        assertStay(all());
    }

    @Test
    @DisplayName("a publication finds its entry, or stores it, whatever a collector removes")
    void publisherMeanwhile() throws Exception {
        CollectionPlan plan = plan();
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Future<Long> removed = threads.submit((Callable<Long>) () -> collect(plan));
            Future<?> published = threads.submit(() -> old.forEach(store::store));
            published.get();
            removed.get();
        }
        assertStay(all());
    }

    @Test
    @DisplayName("two collectors at once remove each entry once")
    void twoCollectors() throws Exception {
        for (int i = 0; i < 200; i++) {
            old.add(stored(100 + i));
        }
        List<CollectionPlan> plans = List.of(plan(), plan());
        long removed = 0;
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            for (Future<Long> each : threads.invokeAll(plans.stream()
                    .map(plan -> (Callable<Long>) () -> collect(plan))
                    .toList())) {
                removed += each.get();
            }
        }
        assertEquals(old.size(), removed);
        assertStay(used);
    }

    @Test
    @DisplayName("--delete removes what a killed process left unfinished, after a day")
    void unfinished() throws Exception {
        String hash = old.getFirst().id().hash().hex();
        Path left = file(old.getFirst()).resolveSibling(hash + ".0123456789abcdef");
        Path writing = left.resolveSibling(hash + ".0123456789abcdee");
        age(Files.createFile(left), 2);
        Files.createFile(writing);
        collect("--delete").exits(0).prints("1 unfinished file removed");
        assertFalse(Files.exists(left));
        assertTrue(Files.exists(writing));
    }

    @Test
    @DisplayName("in a read-only directory a dry run works, and --delete ends with 1 and the cause")
    void readOnly() throws Exception {
        String path = shared.toString();
        assumeTrue(
                "root".equals(System.getProperty("user.name"))
                        && SystemTool.run("mount", "--bind", path, path)
                        && SystemTool.run("mount", "-o", "remount,ro,bind", path),
                "nothing can be mounted here");
        try {
            collect().exits(0).prints(") would leave");
            collect("--delete").exits(1).reports("2 entries cannot be removed: ");
        } finally {
            assertTrue(SystemTool.run("umount", "-l", path));
        }
        assertStay(all());
    }

    @Test
    @DisplayName("wrong options, an absent directory and a read-only layer end with 2")
    void misuse() {
        collect("--endpoint", "http://h").exits(2).reports("belong to s3:// places");
        Cli.run("collect", place + "x").exits(2).reports("is not a directory");
        Cli.run("collect", place + "?access=read").exits(2).reports("read-only");
        Cli.run("collect", shared.toString()).exits(2).reports("is not a bucket");
    }
}
