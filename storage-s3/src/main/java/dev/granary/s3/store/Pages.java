package dev.granary.s3.store;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Sees to it that a listing ends, whatever the server says: counts its pages, and notices when it goes in circles. For one listing. */
public final class Pages {
    /** So many pages has a listing at most: ten million objects, where a page has the usual thousand. */
    static final int MAX_PAGES = 10_000;

    /** So many pages without an object follow each other at most. */
    static final int MAX_EMPTY = 100;

    private int pages;
    private int empty;
    private @Nullable String lastToken;

    /** Before the first page. */
    public Pages() {}

    /**
     * Notes a page after which the server says that there are more.
     *
     * @param objects how many objects the page has
     * @param token where the next page begins, as the server says
     * @return why not to go on; empty where nothing speaks against it
     */
    public Optional<Failure> more(int objects, @Nullable String token) {
        pages++;
        empty = objects == 0 ? empty + 1 : 0;
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
        return pages == MAX_PAGES ? broken("a listing that does not end after " + MAX_PAGES + " pages") : Optional.empty();
    }

    private static Optional<Failure> broken(String what) {
        return Optional.of(Failure.of(Failure.Kind.BROKEN, what + ": is this an S3 server?"));
    }
}
