package dev.granary.s3.embedded;

import org.gaul.s3proxy.BlobStores;
import org.gaul.s3proxy.S3Proxy;
import org.gaul.s3proxy.auth.AuthenticationType;
import org.gaul.shaded.org.eclipse.jetty.server.Server;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.reflect.Field;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Properties;

/**
 * An S3 server inside the JVM, for the demo and for tests, not for production. Thread-safe.
 *
 * <p>It is S3Proxy on a free port of the loopback interface, with credentials of its own.
 * Conditional writes are exact, unless {@link #conditions} changes that, and reads are consistent,
 * see {@link AtomicBlobStore}. A key and another one that continues it after a slash cannot both
 * exist. Objects are buffered in memory.
 */
public final class EmbeddedS3 implements AutoCloseable {
    private static final int THREADS = 200;
    private static final int SECRET_BYTES = 20;

    /** The largest body: that of the benchmark of buckets. */
    private static final long MAX_BYTES = 1L << 30;

    private final S3Proxy server;
    private final AtomicBlobStore blobs;
    private final RequestCountingHandler handler = new RequestCountingHandler();
    private final String accessKey;
    private final String secretKey;

    private EmbeddedS3(AtomicBlobStore blobs) throws IOException {
        this.blobs = blobs;
        SecureRandom random = new SecureRandom();
        this.accessKey = "granary" + hex(random, 4);
        this.secretKey = hex(random, SECRET_BYTES);
        this.server = S3Proxy.builder()
                .blobStore(blobs)
                .endpoint(URI.create("http://127.0.0.1:0"))
                .awsAuthentication(AuthenticationType.AWS_V2_OR_V4, accessKey, secretKey)
                .jettyMaxThreads(THREADS)
                .v4MaxNonChunkedRequestSize(MAX_BYTES)
                .stopTimeout(0)
                .build();
        try {
            jettyOf(server).insertHandler(handler);
            server.start();
        } catch (Exception e) { // declared by S3Proxy
            throw new IOException("The embedded S3 server did not start: " + e.getMessage(), e);
        }
    }

    /**
     * Starts a server; takes about 2 s, mostly for class loading.
     *
     * @param directory the directory for objects, with one subdirectory for each bucket; created if
     *     absent; null to keep them in memory
     * @throws IOException if the directory cannot be used, or no port can be opened
     */
    public static EmbeddedS3 start(@Nullable Path directory) throws IOException {
        raiseLogThreshold("org.gaul");
        raiseLogThreshold("org.eclipse.jetty");
        Properties properties = new Properties();
        if (directory != null) {
            Files.createDirectories(directory);
            properties.setProperty("jclouds.filesystem.basedir", directory.toString());
        }
        return new EmbeddedS3(new AtomicBlobStore(
                BlobStores.create(directory == null ? "transient" : "filesystem", properties)));
    }

    /** Returns the address of the server, such as {@code http://127.0.0.1:40123}. */
    public URI endpoint() {
        return URI.create("http://127.0.0.1:" + server.getPort());
    }

    /** Returns the access key of the only account. */
    public String accessKey() {
        return accessKey;
    }

    /** Returns the secret key of the only account. */
    public String secretKey() {
        return secretKey;
    }

    /** Creates a bucket if it is absent; sends no request. */
    public void createBucket(String name) {
        if (!blobs.containerExists(name)) {
            blobs.createContainer(name);
        }
    }

    /** Sets the handling of the conditions of all further writes. */
    public void conditions(ConditionMode now) {
        blobs.conditions(now);
    }

    /**
     * Sets the handling of the condition of the next write of the object {@code key}, in any
     * bucket.
     */
    public void conditionsOfNextWrite(String key, ConditionMode next) {
        blobs.conditionsOfNextWrite(key, next);
    }

    /** Returns the requests since the start or the last {@link #resetRequests}. */
    public ServerRequestCounts requests() {
        return handler.counts();
    }

    /**
     * Returns the maximum number of concurrent requests since the start or the last
     * {@link #resetRequests}.
     */
    public int maxConcurrentRequests() {
        return handler.maxActive();
    }

    /** Sets all counters to zero. */
    public void resetRequests() {
        handler.reset();
    }

    /** Stops the server. Objects in a directory stay. */
    @Override
    public void close() {
        try {
            server.stop();
        } catch (Exception e) { // declared by S3Proxy
            throw new IllegalStateException(
                    "The embedded S3 server did not stop: " + e.getMessage(), e);
        }
        blobs.close();
    }

    /**
     * Returns the Jetty server by reflection: S3Proxy has no API for handlers, and does not count
     * refused requests. Tied to the pinned version.
     */
    private static Server jettyOf(S3Proxy proxy) throws ReflectiveOperationException {
        Field field = S3Proxy.class.getDeclaredField("server");
        field.setAccessible(true);
        return (Server) field.get(proxy);
    }

    /**
     * Raises the threshold of a logger of slf4j-simple, if that is in use and the level is not
     * configured.
     */
    private static void raiseLogThreshold(String logger) {
        String name = "org.slf4j.simpleLogger.log." + logger;
        if (System.getProperty(name) == null) {
            System.setProperty(name, "warn");
        }
    }

    private static String hex(SecureRandom random, int bytes) {
        byte[] value = new byte[bytes];
        random.nextBytes(value);
        return HexFormat.of().formatHex(value);
    }
}
