package dev.granary.cache.contract;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/**
 * The contract of every {@link PersistentCache}, as a test suite. Subclasses implement
 * {@link #openCache}.
 *
 * <p>The store must have a capacity of at least 64 MiB, so that nothing is evicted here.
 */
public abstract class PersistentCacheContract {
    private final List<PersistentCache> opened = new ArrayList<>();

    /** The entries of the tests. */
    protected final TestEntries entries = new TestEntries(getClass().getName());

    private @Nullable PersistentCache first;

    /**
     * Opens the store of the running test. Further calls open the same store again, beside the
     * first.
     */
    protected abstract PersistentCache openCache() throws Exception;

    /** Opens the store again; it is closed after the test. */
    protected final PersistentCache openAnother() throws Exception {
        PersistentCache another = openCache();
        opened.add(another);
        return another;
    }

    /** Returns the opened store under test. */
    protected final PersistentCache cache() {
        return Objects.requireNonNull(first);
    }

    @BeforeEach
    final void openFirst() throws Exception {
        first = openAnother();
    }

    @AfterEach
    final void closeAll() {
        opened.forEach(PersistentCache::close);
    }

    @Test
    @DisplayName("an entry that was never stored is absent")
    void absent() {
        assertThat(cache().load(entries.id())).isAbsent();
    }

    @Test
    @DisplayName("an entry is loaded as it was stored, from one byte to megabytes, with one or many"
            + " binaries")
    void roundTrip() {
        for (int size : new int[] {1, 2, 63, 4096, 65_537, 3_000_000}) {
            Entry entry = entries.entry(size);
            assertThat(cache().store(entry)).isStored();
            assertThat(cache().load(entry.id())).isHitOf(entry);
        }
        Entry many = TestEntries.entry(
                entries.id(),
                KernelBinaries.of(
                        new byte[0],
                        entries.bytes(10),
                        TestEntries.compressible(100_000),
                        entries.bytes(1)));
        assertThat(cache().store(many)).isStored();
        assertThat(cache().load(many.id())).isHitOf(many);
    }

    @Test
    @DisplayName("metadata and compile time are loaded as stored")
    void metadata() {
        Entry entry = entries.entry(100);
        cache().store(entry);
        Entry loaded = assertThat(cache().load(entry.id())).isHit();
        assertEquals(entry.metadata(), loaded.metadata());
        assertEquals(entry.compileTime(), loaded.compileTime());
        assertEquals(entry.contentHash(), loaded.contentHash());
    }

    @Test
    @DisplayName("storing the same content again writes nothing")
    void duplicate() {
        Entry entry = entries.entry(1000);
        assertThat(cache().store(entry)).isStored();
        assertThat(cache().store(entry)).isDuplicate();
        assertThat(cache().load(entry.id())).isHitOf(entry);
    }

    @Test
    @DisplayName("several entries are stored: new ones, and one that is present")
    void several() {
        List<Entry> all =
                IntStream.range(0, 30).mapToObj(i -> entries.entry(1 + i * 10)).toList();
        assertThat(cache().store(all.get(15))).isStored();
        List<StoreResult> results = all.stream().map(cache()::store).toList();
        for (int i = 0; i < all.size(); i++) {
            assertThat(results.get(i))
                    .as("entry " + i)
                    .is(i == 15 ? StoreResult.Duplicate.class : StoreResult.Stored.class);
            assertThat(cache().load(all.get(i).id())).isHitOf(all.get(i));
        }
    }

    @Test
    @DisplayName("two contents of one id: one of them is stored whole, as the result states")
    void otherContent() {
        Id id = entries.id();
        Entry first = entries.entry(id, 1000);
        Entry second = entries.entry(id, 1500);
        cache().store(first);
        switch (cache().store(second)) {
            case StoreResult.Divergent _ -> assertThat(cache().load(id)).isHitOf(first);
            case StoreResult.Stored _ -> assertThat(cache().load(id)).isHitOf(second);
            case StoreResult other ->
                throw new AssertionError("Neither kept nor replaced: " + other);
        }
    }

    @Test
    @DisplayName(
            "a second opening of the store sees each write immediately, and close loses nothing")
    void twoOpenings() throws Exception {
        PersistentCache other = openAnother();
        Entry entry = entries.entry(5000);
        cache().store(entry);
        assertThat(other.load(entry.id())).isHitOf(entry);
        cache().close();
        assertThat(openAnother().load(entry.id())).isHitOf(entry);
    }

    @Test
    @DisplayName("discard removes the loaded content, and never its newer replacement")
    void discardIsExact() {
        Entry entry = entries.entry(500);
        cache().store(entry);
        Entry loaded = assertThat(cache().load(entry.id())).isHit();
        cache().discard(entries.entry(entry.id(), 600)); // different content: no effect
        assertThat(cache().load(entry.id())).isHitOf(entry);
        cache().discard(loaded);
        assertThat(cache().load(entry.id()))
                .as("removed, or declined")
                .isOneOf(LoadResult.Absent.class, LoadResult.Hit.class);
    }

    @Test
    @DisplayName("ids of many KiB are supported")
    void largeIds() {
        Entry entry = TestEntries.entry(
                TestEntries.id("x".repeat(300_000)), KernelBinaries.of(entries.bytes(10)));
        assertThat(cache().store(entry)).isStored();
        assertThat(cache().load(entry.id())).isHitOf(entry);
    }

    @Test
    @DisplayName("concurrent stores and loads: every hit is complete and correct")
    void threads() throws Exception {
        PersistentCache other = openAnother();
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            all.add(entries.entry(1 + i * 1000));
        }
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Callable<Void>> work = new ArrayList<>();
            for (int t = 0; t < 8; t++) {
                PersistentCache own = t % 2 == 0 ? cache() : other;
                int first = t;
                work.add(() -> {
                    for (int i = 0; i < all.size(); i++) {
                        Entry entry = all.get((first * 3 + i) % all.size());
                        if (own.load(entry.id()) instanceof LoadResult.Hit hit) {
                            assertEquals(entry.binaries(), hit.entry().binaries());
                        }
                        StoreResult stored = own.store(entry);
                        assertThat(stored).isStoredOrDuplicate();
                        assertThat(own.load(entry.id())).isHitOf(entry);
                    }
                    return null;
                });
            }
            for (Future<Void> done : threads.invokeAll(work)) {
                done.get();
            }
        } catch (ExecutionException e) {
            throw new AssertionError("A thread failed", e.getCause());
        }
    }

    @Test
    @DisplayName("close is idempotent; a later call is a programming error")
    void closed() {
        cache().close();
        cache().close();
        assertThrows(IllegalStateException.class, () -> cache().load(entries.id()));
        assertThrows(IllegalStateException.class, () -> cache().store(entries.entry(1)));
    }
}
