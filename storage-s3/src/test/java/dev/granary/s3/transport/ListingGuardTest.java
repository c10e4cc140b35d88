package dev.granary.s3.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.store.TrafficCounter;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;

/** Tests of the limits of endless listings and responses. */
class ListingGuardTest {
    @Test
    @DisplayName("a listing has at most 10,000 pages, at most 100 consecutive empty ones, none"
            + " twice, and each names the next")
    void pages() {
        ListingGuard many = new ListingGuard();
        int page = 1;
        while (many.recordPage(1, "token-" + page).isEmpty()) {
            page++;
        }
        assertEquals(ListingGuard.MAX_PAGES, page);
        ListingGuard empty = new ListingGuard();
        page = 1;
        while (empty.recordPage(
                        page % ListingGuard.MAX_EMPTY == 50 && page < 500 ? 1 : 0, "token-" + page)
                .isEmpty()) {
            page++;
        }
        assertEquals(450 + ListingGuard.MAX_EMPTY, page);
        assertTrue(new ListingGuard().recordPage(1, null).isPresent());
        assertTrue(new ListingGuard().recordPage(1, "").isPresent());
        ListingGuard circle = new ListingGuard();
        assertTrue(circle.recordPage(1, "a").isEmpty());
        assertTrue(circle.recordPage(1, "a").isPresent());
    }

    @Test
    @DisplayName("a listing has at most 2,000,000 objects and takes at most 10 minutes in total")
    void whole() {
        ListingGuard full = new ListingGuard(() -> 0);
        for (int page = 1; page < ListingGuard.MAX_OBJECTS / 1000; page++) {
            assertTrue(full.recordPage(1000, "token-" + page).isEmpty());
        }
        assertEquals(
                "a listing has more than 2000000 objects, the limit",
                full.recordPage(1000, "last").orElseThrow().message());
        AtomicLong now = new AtomicLong(Long.MAX_VALUE - 5);
        ListingGuard slow = new ListingGuard(now::get);
        now.addAndGet(ListingGuard.MAX_TIME.toNanos() - 1);
        assertTrue(slow.recordPage(1, "a").isEmpty());
        now.incrementAndGet();
        assertEquals(
                "a listing does not end within 10 minutes, the limit",
                slow.recordPage(1, "b").orElseThrow().message());
    }

    @Test
    @DisplayName("an error may have 256 KiB and a listing page 2 MiB, and not a byte more")
    void responses() throws IOException {
        for (int status : new int[] {200, 206, 300, 404, 500}) {
            ResponseSizeLimit limit = new ResponseSizeLimit(status, false, new TrafficCounter());
            limit.add(status < 300 ? ResponseSizeLimit.PAGE_BYTES : ResponseSizeLimit.ERROR_BYTES);
            limit.add(-1);
            assertThrows(IOException.class, () -> limit.add(1));
        }
    }
}
