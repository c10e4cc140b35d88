package dev.granary.cache.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.InMemoryCache.OtherContent;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;
import org.junit.platform.testkit.engine.Events;

import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Mutation tests of the contract suite: it must fail on stores with deliberate defects. */
class ContractMutationTest {
    private static Events run(Class<? extends PersistentCacheContract> suite) {
        return EngineTestKit.engine("junit-jupiter")
                .selectors(selectClass(suite))
                .execute()
                .testEvents();
    }

    private static Set<String> failed(Class<? extends PersistentCacheContract> suite) {
        return run(suite).failed().stream()
                .map(Event::getTestDescriptor)
                .map(test -> test.getSource()
                        .map(MethodSource.class::cast)
                        .map(MethodSource::getMethodName)
                        .orElse("?"))
                .collect(Collectors.toSet());
    }

    @Test
    @DisplayName("the suite passes on a store that keeps the contract")
    void sound() {
        Events events = run(SoundStore.class);
        assertEquals(0, events.failed().count());
        assertTrue(events.succeeded().count() >= 10, "the suite ran");
    }

    @Test
    @DisplayName("the suite fails on a store that returns truncated binaries")
    void truncating() {
        assertTrue(failed(TruncatingStore.class)
                .containsAll(
                        List.of("roundTrip", "twoOpenings", "largeIds", "threads", "duplicate")));
    }

    @Test
    @DisplayName("the suite fails on a store that loses its entries on close")
    void forgetful() {
        assertEquals(Set.of("twoOpenings"), failed(ForgetfulStore.class));
    }

    @Test
    @DisplayName("the suite fails on a store that throws if an entry is absent")
    void throwing() {
        assertTrue(failed(ThrowingStore.class).containsAll(List.of("absent", "threads")));
    }

    /** A store that delegates all calls. */
    private static class Forwarding implements PersistentCache {
        private final Supplier<InMemoryCache> store;

        Forwarding(Supplier<InMemoryCache> store) {
            this.store = store;
        }

        @Override
        public LoadResult load(Id id) {
            return store.get().load(id);
        }

        @Override
        public StoreResult store(Entry entry) {
            return store.get().store(entry);
        }

        @Override
        public void discard(Entry entry) {
            store.get().discard(entry);
        }

        @Override
        public void close() {
            store.get().close();
        }
    }

    static class SoundStore extends PersistentCacheContract {
        final InMemoryCache store = new InMemoryCache(OtherContent.REPLACE);

        @Override
        protected PersistentCache openCache() {
            InMemoryCache opened = store.reopened();
            return new Forwarding(() -> opened);
        }
    }

    static class TruncatingStore extends SoundStore {
        @Override
        protected PersistentCache openCache() {
            InMemoryCache opened = store.reopened();
            return new Forwarding(() -> opened) {
                @Override
                public LoadResult load(Id id) {
                    return super.load(id) instanceof LoadResult.Hit hit
                            ? new LoadResult.Hit(shortened(hit.entry()))
                            : LoadResult.ABSENT;
                }
            };
        }

        private static Entry shortened(Entry entry) {
            KernelBinaries half = KernelBinaries.ofSegments(entry.binaries().segments().stream()
                    .map(segment -> segment.asSlice(0, segment.byteSize() / 2))
                    .toList());
            return Entry.ofStored(
                    entry.id(), half, entry.compileTime(), entry.contentHash(), entry::metadata);
        }
    }

    static class ForgetfulStore extends PersistentCacheContract {
        private InMemoryCache store = new InMemoryCache(OtherContent.KEEP_FIRST);

        @Override
        protected PersistentCache openCache() {
            InMemoryCache opened = store.reopened();
            return new Forwarding(() -> opened) {
                @Override
                public void close() {
                    super.close();
                    store = new InMemoryCache(OtherContent.KEEP_FIRST);
                }
            };
        }
    }

    static class ThrowingStore extends SoundStore {
        @Override
        protected PersistentCache openCache() {
            InMemoryCache opened = store.reopened();
            return new Forwarding(() -> opened) {
                @Override
                public LoadResult load(Id id) {
                    LoadResult result = super.load(id);
                    if (result instanceof LoadResult.Absent) {
                        throw new IllegalArgumentException("no such entry");
                    }
                    return result;
                }
            };
        }
    }
}
