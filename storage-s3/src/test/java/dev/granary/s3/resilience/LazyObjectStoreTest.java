package dev.granary.s3.resilience;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.store.ObjectStore;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Tests of a transport that is closed before, during and after its creation. */
class LazyObjectStoreTest {
    private int open;

    private final class CountedStore extends MemoryObjectStore {
        private boolean isClosed;

        CountedStore() {
            open++;
        }

        @Override
        public void close() {
            open -= isClosed ? 0 : 1;
            isClosed = true;
        }
    }

    private static String call(LazyObjectStore store) {
        return store.call(_ -> "sent", failure -> failure.message());
    }

    @Test
    @DisplayName("R16 a transport that is closed sends no request, and none stays open")
    void closed() {
        LazyObjectStore unused = new LazyObjectStore(CountedStore::new);
        unused.close();
        assertEquals("closed", call(unused));
        LazyObjectStore used = new LazyObjectStore(CountedStore::new);
        assertEquals("sent", call(used));
        used.close();
        assertEquals("closed", call(used));
        assertEquals(0, open);
    }

    @Test
    @DisplayName("R16 a transport that is closed during its creation does not stay open")
    void closedMeanwhile() {
        LazyObjectStore[] store = new LazyObjectStore[1];
        store[0] = new LazyObjectStore(() -> {
            ObjectStore opened = new CountedStore();
            store[0].close();
            return opened;
        });
        assertEquals("closed", call(store[0]));
        assertEquals(0, open);
    }
}
