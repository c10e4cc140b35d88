package dev.granary.s3.transport;

import dev.granary.s3.store.StoreFailure;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Limits of one listing, whatever the server sends: pages, objects, total time, consecutive empty
 * pages, and cycles.
 */
public final class ListingGuard {
    /** Maximum number of pages: 10 million objects, at the usual 1,000 in each page. */
    static final int MAX_PAGES = 10_000;

    /** Maximum number of objects; it also bounds the memory for them. */
    static final int MAX_OBJECTS = 2_000_000;

    /**
     * Maximum duration: a page of 1,000 objects takes less than 0.3 s with the measured servers.
     */
    static final Duration MAX_TIME = Duration.ofMinutes(10);

    /** Maximum number of consecutive pages without an object. */
    static final int MAX_EMPTY = 100;

    private final LongSupplier nanos;
    private final long startNanos;
    private int pages;
    private int empty;
    private long objects;
    private @Nullable String lastToken;

    /** Starts the listing, before its first page. */
    public ListingGuard() {
        this(System::nanoTime);
    }

    ListingGuard(LongSupplier nanos) {
        this.nanos = nanos;
        this.startNanos = nanos.getAsLong();
    }

    /**
     * Records a page that the server declares not to be the last.
     *
     * @param onPage the number of objects on the page that belong to the listing
     * @param token the continuation token of the server
     * @return the reason to end the listing; empty if it may continue
     */
    public Optional<StoreFailure> recordPage(int onPage, @Nullable String token) {
        pages++;
        objects += onPage;
        empty = onPage == 0 ? empty + 1 : 0;
        if (token == null || token.isEmpty()) {
            return broken("an incomplete listing without a continuation token");
        }
        if (token.equals(lastToken)) {
            return broken("a listing that repeats its continuation token");
        }
        lastToken = token;
        if (empty == MAX_EMPTY) {
            return broken("a listing of " + MAX_EMPTY + " empty pages");
        }
        if (objects >= MAX_OBJECTS) {
            return tooLong("a listing has more than " + MAX_OBJECTS + " objects");
        }
        if (nanos.getAsLong() - startNanos >= MAX_TIME.toNanos()) {
            return tooLong("a listing does not end within " + MAX_TIME.toMinutes() + " minutes");
        }
        return pages == MAX_PAGES
                ? broken("a listing that does not end after " + MAX_PAGES + " pages")
                : Optional.empty();
    }

    private static Optional<StoreFailure> tooLong(String what) {
        return Optional.of(StoreFailure.of(StoreFailure.Kind.BROKEN, what + ", the limit"));
    }

    private static Optional<StoreFailure> broken(String what) {
        return Optional.of(
                StoreFailure.of(StoreFailure.Kind.BROKEN, what + ": is this an S3 server?"));
    }
}
