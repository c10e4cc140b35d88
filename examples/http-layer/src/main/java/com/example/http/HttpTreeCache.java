package com.example.http;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A read-only cache over a directory of {@code granary copy} that an HTTP server delivers. A load
 * takes one request, and at most the limit that the cache was opened with. Thread-safe.
 */
public final class HttpTreeCache implements PersistentCache {
    private static final StoreResult READ_ONLY = new StoreResult.Refused(
            StoreResult.Scope.STORE, "read-only");

    private final URI directory;
    private final Duration limit;
    private final HttpClient client;
    private volatile boolean isClosed;

    /**
     * Opens a directory. Sends nothing.
     *
     * @param directory the address of the directory, which ends with a slash
     * @param limit the longest time of one load
     */
    public HttpTreeCache(URI directory, Duration limit) {
        this.directory = directory;
        this.limit = limit;
        this.client = HttpClient.newBuilder().connectTimeout(limit).build();
    }

    @Override
    public LoadResult load(Id id) {
        requireOpen();
        String hash = id.hash().hex();
        URI file = directory.resolve("v3/" + id.target().path() + "/" + hash.substring(0, 2) + "/"
                + hash + ".entry");
        CompletableFuture<HttpResponse<byte[]>> answer = client.sendAsync(
                HttpRequest.newBuilder(file).build(),
                BodyHandlers.limiting(BodyHandlers.ofByteArray(), EntryFormat.MAX_BYTES));
        try {
            // the limit holds for the body, too: that of HttpRequest ends with the headers
            HttpResponse<byte[]> response = answer.get(limit.toNanos(), TimeUnit.NANOSECONDS);
            return switch (response.statusCode()) {
                case 200 -> EntryFormat.decode(
                        MemorySegment.ofArray(response.body()), id, VerificationLevel.CONTENT_HASH);
                case 404, 410 -> LoadResult.ABSENT;
                default -> new LoadResult.Unavailable(
                        file + ": HTTP status " + response.statusCode());
            };
        } catch (TimeoutException e) {
            return new LoadResult.Unavailable(file + ": no answer within " + limit);
        } catch (ExecutionException e) {
            return new LoadResult.Unavailable(file + ": " + e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new LoadResult.Unavailable("interrupted");
        } finally {
            answer.cancel(true);
        }
    }

    @Override
    public StoreResult store(Entry entry) {
        requireOpen();
        return READ_ONLY;
    }

    @Override
    public void discard(Entry entry) {
        requireOpen(); // the directory is not ours: the entry stays
    }

    @Override
    public void close() {
        isClosed = true;
        client.shutdownNow();
    }

    private void requireOpen() {
        if (isClosed) {
            throw new IllegalStateException("The cache is closed");
        }
    }
}
