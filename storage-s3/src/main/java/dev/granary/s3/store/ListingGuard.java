package dev.granary.s3.store;

import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Bounds a listing, whatever the server says: in pages, objects and time as a whole, and in pages without an object; and notices when it goes in circles.
 * For one listing.
 */
public final class ListingGuard {
    /** So many pages has a listing at most: ten million objects, where a page has the usual thousand. */
    static final int MAX_PAGES = 10_000;

    /** So many objects has a listing at most; what is in memory for each of them is bounded by it, too. */
    static final int MAX_OBJECTS = 2_000_000;

    /** So long takes a listing at most: a page of a thousand objects needs less than 0.3 s with the servers that were measured. */
    static final Duration MAX_TIME = Duration.ofMinutes(10);

    /** So many pages without an object follow each other at most. */
    static final int MAX_EMPTY = 100;

    private final LongSupplier nanos;
    private final long startNanos;
    private int pages;
    private int empty;
    private long objects;
    private @Nullable String lastToken;

    /** Before the first page. */
    public ListingGuard() {
        this(System::nanoTime);
    }

    ListingGuard(LongSupplier nanos) {
        this.nanos = nanos;
        this.startNanos = nanos.getAsLong();
    }

    /**
     * Notes a page after which the server says that there are more.
     *
     * @param onPage how many objects the page has that belong to the listing
     * @param token where the next page begins, as the server says
     * @return why not to go on; empty where nothing speaks against it
     */
    public Optional<StoreFailure> more(int onPage, @Nullable String token) {
        pages++;
        objects += onPage;
        empty = onPage == 0 ? empty + 1 : 0;
        if (token == null || token.isEmpty()) {
            return broken("a listing that does not end, and does not tell how it goes on");
        }
        if (token.equals(lastToken)) {
            return broken("a listing that goes in circles");
        }
        lastToken = token;
        if (empty == MAX_EMPTY) {
            return broken("a listing of " + MAX_EMPTY + " empty pages");
        }
        if (objects >= MAX_OBJECTS) {
            return broken("a listing of more than " + MAX_OBJECTS + " objects");
        }
        if (nanos.getAsLong() - startNanos >= MAX_TIME.toNanos()) {
            return broken("a listing that does not end within " + MAX_TIME.toMinutes() + " minutes");
        }
        return pages == MAX_PAGES ? broken("a listing that does not end after " + MAX_PAGES + " pages") : Optional.empty();
    }

    private static Optional<StoreFailure> broken(String what) {
        return Optional.of(StoreFailure.of(StoreFailure.Kind.BROKEN, what + ": is this an S3 server?"));
    }
}
