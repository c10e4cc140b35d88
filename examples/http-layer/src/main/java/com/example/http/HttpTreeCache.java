package com.example.http;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.coordinator.transfer.EntryDescription;
import dev.granary.coordinator.transfer.TreeException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A read-only cache over a tree of {@code granary export} that an HTTP server delivers. A hit takes
 * one request for {@code about.txt}, one for the key and one for each binary. A call takes at most
 * the limit that it was opened with. Thread-safe.
 */
public final class HttpTreeCache implements PersistentCache {
    private static final int MAX_ABOUT_BYTES = 1 << 20;
    private static final StoreResult READ_ONLY = new StoreResult.Refused(
            StoreResult.Scope.STORE, "read-only");

    private final URI tree;
    private final Duration limit;
    private final HttpClient client;
    private volatile boolean isClosed;

    /** The end of a load that found no usable entry. */
    private static final class Miss extends Exception {
        private static final long serialVersionUID = 1;
        private final transient LoadResult result;

        Miss(LoadResult result) {
            this.result = result;
        }
    }

    /**
     * Opens a tree. Sends nothing.
     *
     * @param tree the address of the exported directory, {@code http} or {@code https}
     * @param limit the longest time of one load
     * @throws IllegalArgumentException if it is no such address
     */
    public HttpTreeCache(URI tree, Duration limit) {
        if (!("http".equals(tree.getScheme()) || "https".equals(tree.getScheme()))
                || tree.getHost() == null
                || tree.getQuery() != null
                || tree.getFragment() != null) {
            throw new IllegalArgumentException(
                    "The tree must be such as http://server/kernels/, not " + tree);
        }
        this.tree = URI.create(tree.toString().replaceFirst("/*$", "/"));
        this.limit = limit;
        this.client = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(limit)
                // at most five, and none from https to http; the content is checked in any case
                .followRedirects(HttpClient.Redirect.NORMAL)
                .build();
    }

    @Override
    public LoadResult load(Id id) {
        requireOpen();
        long end = System.nanoTime() + limit.toNanos();
        // Number 0; others are for two keys with one SHA-256, or for trees of other programs.
        URI directory = tree.resolve(id.hash().hex() + "/0/");
        try {
            return load(id, directory, end);
        } catch (Miss e) {
            return e.result;
        } catch (TreeException e) {
            return new LoadResult.Damaged(DamageKind.FOREIGN, directory + ": " + e.getMessage());
        }
    }

    private LoadResult load(Id id, URI directory, long end) throws Miss, TreeException {
        byte[] text = get(directory.resolve("about.txt"), MAX_ABOUT_BYTES, end);
        if (text == null) {
            return LoadResult.ABSENT;
        }
        EntryDescription about = EntryDescription.parse(new String(text, StandardCharsets.UTF_8));
        long length = 0;
        for (long bytes : about.binaryBytes()) {
            if (bytes < 0 || bytes > EntryFormat.MAX_BYTES - length) {
                return new LoadResult.Damaged(DamageKind.TOO_LARGE, directory + "about.txt");
            }
            length += bytes;
        }
        byte[] key = require(directory.resolve("key.bin"), id.length(), end);
        if (!Arrays.equals(key, id.bytes())) {
            return new LoadResult.Damaged(DamageKind.WRONG_KEY, directory + "key.bin");
        }
        List<MemorySegment> binaries = new ArrayList<>();
        for (long bytes : about.binaryBytes()) {
            String name = binaries.isEmpty() ? "kernel.bin" : "kernel." + binaries.size() + ".bin";
            binaries.add(MemorySegment.ofArray(require(directory.resolve(name), bytes, end)));
        }
        if (about.metadata().isEmpty()) {
            return new LoadResult.Damaged(DamageKind.FOREIGN, directory + "about.txt is not whole");
        }
        Entry entry = Entry.of(
                id,
                KernelBinaries.ofSegments(binaries),
                about.compileTime(),
                about.metadata().get());
        return entry.contentHash().equals(about.contentHash())
                ? new LoadResult.Hit(entry)
                : new LoadResult.Damaged(DamageKind.CORRUPT, directory + ": SHA-256 differs");
    }

    /** Returns a file of exactly {@code bytes} bytes. */
    private byte[] require(URI file, long bytes, long end) throws Miss {
        byte[] content = get(file, bytes, end);
        if (content == null) {
            // also while the tree is copied to the server
            throw new Miss(new LoadResult.Damaged(DamageKind.TRUNCATED, file + " is missing"));
        }
        if (content.length != bytes) {
            throw new Miss(new LoadResult.Damaged(
                    DamageKind.TRUNCATED,
                    file + " has " + content.length + " bytes, not " + bytes));
        }
        return content;
    }

    /** Returns the content of a file, or null if the server has none. */
    private byte[] get(URI file, long maxBytes, long end) throws Miss {
        CompletableFuture<HttpResponse<byte[]>> answer = client.sendAsync(
                HttpRequest.newBuilder(file).build(),
                BodyHandlers.limiting(BodyHandlers.ofByteArray(), maxBytes));
        try {
            // the limit holds for the body, too: that of HttpRequest ends with the headers
            HttpResponse<byte[]> response =
                    answer.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
            return switch (response.statusCode()) {
                case 200 -> response.body();
                case 404, 410 -> null;
                default -> throw new Miss(new LoadResult.Unavailable(
                        file + ": HTTP status " + response.statusCode()));
            };
        } catch (TimeoutException e) {
            throw new Miss(new LoadResult.Unavailable(file + ": no answer within " + limit));
        } catch (ExecutionException e) {
            throw new Miss(new LoadResult.Unavailable(file + ": " + e.getCause()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Miss(new LoadResult.Unavailable("interrupted"));
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
        requireOpen(); // the tree is not ours: the entry stays
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
