package dev.granary.s3.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What ends a listing that does not end by itself, and an answer that does not. */
class PagesTest {
    @Test
    @DisplayName("T5 a listing has 10,000 pages at most, 100 empty ones one behind the other, none twice, and each tells where the next begins")
    void pages() {
        Pages many = new Pages();
        int page = 1;
        while (many.more(1, "token-" + page).isEmpty()) {
            page++;
        }
        assertEquals(Pages.MAX_PAGES, page);
        Pages empty = new Pages();
        page = 1;
        while (empty.more(page % Pages.MAX_EMPTY == 50 && page < 500 ? 1 : 0, "token-" + page).isEmpty()) {
            page++;
        }
        assertEquals(450 + Pages.MAX_EMPTY, page);
        assertTrue(new Pages().more(1, null).isPresent());
        assertTrue(new Pages().more(1, "").isPresent());
        Pages circle = new Pages();
        assertTrue(circle.more(1, "a").isEmpty());
        assertTrue(circle.more(1, "a").isPresent());
    }

    @Test
    @DisplayName("S5 S6 a listing has 2,000,000 objects and 10 minutes at most as a whole")
    void whole() {
        Pages full = new Pages(() -> 0);
        for (int page = 1; page < Pages.MAX_OBJECTS / 1000; page++) {
            assertTrue(full.more(1000, "token-" + page).isEmpty());
        }
        assertTrue(full.more(1000, "last").orElseThrow().message().contains("2000000 objects"));
        AtomicLong now = new AtomicLong(Long.MAX_VALUE - 5);
        Pages slow = new Pages(now::get);
        now.addAndGet(Pages.MAX_TIME.toNanos() - 1);
        assertTrue(slow.more(1, "a").isEmpty());
        now.incrementAndGet();
        assertTrue(slow.more(1, "b").orElseThrow().message().contains("within 10 minutes"));
    }

    @Test
    @DisplayName("T5 an error may have 256 KiB and a page of a listing 2 MiB, and not a byte more")
    void answers() throws IOException {
        for (int status : new int[] {200, 206, 300, 404, 500}) {
            AnswerLimit limit = AnswerLimit.ofStatus(status);
            limit.add(status < 300 ? AnswerLimit.PAGE_BYTES : AnswerLimit.ERROR_BYTES);
            limit.add(-1);
            assertThrows(IOException.class, () -> limit.add(1));
        }
    }
}
