package com.example.http;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.SimpleFileServer;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.PersistentCacheContract;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/**
 * The contract suite for {@link HttpTreeCache} over the JDK's file server. The cache stores
 * nothing, so stores of the suite go into the directory as {@code granary copy} writes it. All
 * loads are HTTP.
 */
class HttpTreeCacheTest extends PersistentCacheContract {
    private final Path directory;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpServer server;

    HttpTreeCacheTest(@TempDir Path directory) {
        this.directory = directory.toAbsolutePath();
        server = SimpleFileServer.createFileServer(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                this.directory,
                SimpleFileServer.OutputLevel.NONE);
        server.setExecutor(threads);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
        threads.shutdownNow();
    }

    @Override
    protected PersistentCache openCache() {
        return new ServedDirectory(new HttpTreeCache(
                URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/"),
                Duration.ofMinutes(5)));
    }

    /** A directory with a writer and a reader. */
    private final class ServedDirectory implements PersistentCache {
        private final HttpTreeCache reader;

        ServedDirectory(HttpTreeCache reader) {
            this.reader = reader;
        }

        @Override
        public LoadResult load(Id id) {
            return reader.load(id);
        }

        @Override
        public StoreResult store(Entry entry) {
            if (!(reader.store(entry) instanceof StoreResult.Refused)) {
                throw new AssertionError("The reader must store nothing");
            }
            return reader.load(entry.id()) instanceof LoadResult.Hit(Entry there)
                            && there.contentHash().equals(entry.contentHash())
                    ? StoreResult.DUPLICATE
                    : new ServedFiles(directory).store(entry);
        }

        @Override
        public void discard(Entry entry) {
            reader.discard(entry);
        }

        @Override
        public void close() {
            reader.close();
        }
    }
}
