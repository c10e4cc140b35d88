package com.example.http;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.SimpleFileServer;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.coordinator.transfer.TreeException;
import dev.granary.coordinator.transfer.TreeWriter;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/**
 * The contract suite for {@link HttpTreeCache} over the JDK's file server. The cache stores
 * nothing, so stores of the suite go into the tree as {@code granary export} writes it. All loads
 * are HTTP.
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
        return new ExportedTree(new HttpTreeCache(
                URI.create("http://127.0.0.1:" + server.getAddress().getPort()),
                Duration.ofMinutes(5)));
    }

    /** A tree with an exporter and a reader. */
    private final class ExportedTree implements PersistentCache {
        private final HttpTreeCache reader;

        ExportedTree(HttpTreeCache reader) {
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
            synchronized (server) { // one export at a time
                try {
                    TreeWriter.Outcome outcome = TreeWriter.into(
                                    directory, TreeWriter.Mode.WRITE, RandomGenerator.getDefault())
                            .write(entry);
                    return outcome == TreeWriter.Outcome.PRESENT
                            ? StoreResult.DUPLICATE
                            : new StoreResult.Stored(entry.binaries().byteSize());
                } catch (IOException | TreeException e) {
                    return new StoreResult.Failed(e.toString());
                }
            }
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
