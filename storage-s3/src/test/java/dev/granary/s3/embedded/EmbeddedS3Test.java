package dev.granary.s3.embedded;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.CheckResult;
import dev.granary.s3.BucketTier;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tests of the embedded server over a directory, and of its counters. */
class EmbeddedS3Test {
    private static final int WRITERS = 6;
    private static final int INCREMENTS = 8;

    private final TestEntries entries = new TestEntries(EmbeddedS3Test.class.getName());
    private final Path directory;
    private final EmbeddedS3 server;

    EmbeddedS3Test(@TempDir Path directory) throws IOException {
        this.directory = directory;
        this.server = EmbeddedS3.start(directory);
        server.createBucket("kernels");
        server.createBucket("kernels"); // again: no effect
    }

    @AfterEach
    void close() {
        server.close();
    }

    private static S3Config config(EmbeddedS3 server, S3ClientLibrary client) {
        return S3Config.builder("kernels")
                .endpoint(server.endpoint())
                .client(client)
                .credentials(server.accessKey(), server.secretKey())
                .build();
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("counted at the server: opening is no request, a publication one PUT, a hit one"
            + " GET, a known absence none; nothing reads the store marker")
    void requests(S3ClientLibrary client) {
        Entry entry = entries.entry(100_000);
        Entry other = entries.entry(3_000_000);
        server.resetRequests();
        try (BucketTier tier = BucketTier.open(config(server, client))) {
            assertEquals(0, server.requests().total());
            assertThat(tier.store(entry)).isStored();
            assertEquals(new ServerRequestCounts(0, 0, 1, 0, 0, 0), server.requests());
            assertThat(tier.store(other)).isStored();
            assertEquals(new ServerRequestCounts(0, 0, 2, 0, 0, 0), server.requests());
            for (int i = 1; i <= 3; i++) {
                assertThat(tier.load(entry.id())).isHitOf(entry);
                // and one request for the head
                assertEquals(new ServerRequestCounts(1 + i, 0, 2, 0, 0, 0), server.requests());
            }
            var absent = entries.id();
            for (int i = 0; i < 10; i++) {
                tier.load(absent);
            }
            assertEquals(new ServerRequestCounts(5, 0, 2, 0, 0, 0), server.requests());
            assertThat(tier.store(entry)).isDuplicate();
            assertEquals(new ServerRequestCounts(6, 0, 3, 0, 0, 0), server.requests());
            assertEquals(
                    new BucketTierStatistics.Requests(6, 0, 3, 0, 0),
                    tier.statistics().requests());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("each method is counted as what it is, refused requests too")
    void methods(S3ClientLibrary client) {
        server.resetRequests();
        try (ObjectStore store = ObjectStoreFactory.open(config(server, client))) {
            store.get("a/b", 10);
            store.head("a/b");
            store.putIfAbsent("a/b", new byte[1]);
            store.range("a/b", 0, 1);
            store.delete("a/b");
            store.list("a/", object -> {});
        }
        assertEquals(new ServerRequestCounts(2, 1, 1, 1, 1, 0), server.requests());
        S3Config wrong = S3Config.builder("kernels")
                .endpoint(server.endpoint())
                .client(client)
                .credentials("nobody", "secret")
                .build();
        try (ObjectStore store = ObjectStoreFactory.open(wrong)) {
            store.get("a/b", 10);
        }
        assertEquals(3, server.requests().get());
    }

    @Test
    @DisplayName(
            "six writers increment a counter by If-Match: no update is lost, and no read is torn,"
                    + " on a directory")
    void noLostUpdate() throws Exception {
        try (ObjectStore store = ObjectStoreFactory.open(config(server, S3ClientLibrary.AWS))) {
            store.putIfAbsent("counter", body(0));
            List<Future<?>> writers = new ArrayList<>();
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (int w = 0; w < WRITERS; w++) {
                    writers.add(threads.submit(() -> {
                        for (int i = 0; i < INCREMENTS; i++) {
                            increment(store);
                        }
                    }));
                }
                for (Future<?> writer : writers) {
                    writer.get();
                }
            }
            assertEquals(WRITERS * INCREMENTS, value(found(store)));
        }
    }

    private static void increment(ObjectStore store) {
        while (true) {
            GetResult.Found now = found(store);
            switch (store.replaceIfMatch("counter", now.etag(), body(value(now) + 1))) {
                case WriteResult.Done _ -> {
                    return;
                }
                // another one was faster
                case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> {}
                case WriteResult.NotAllowed bad -> throw new AssertionError(bad);
                case WriteResult.NotSent bad -> throw new AssertionError(bad);
                case WriteResult.Unknown bad -> throw new AssertionError(bad);
            }
        }
    }

    private static GetResult.Found found(ObjectStore store) {
        return assertThat(store.get("counter", 1 << 20)).isFound();
    }

    /** Returns a long body that repeats its number, to detect torn reads. */
    private static byte[] body(int number) {
        return "%08d".formatted(number).repeat(4000).getBytes(UTF_8);
    }

    private static int value(GetResult.Found found) {
        String text = new String(found.bytes().toArray(ValueLayout.JAVA_BYTE), UTF_8);
        String number = text.substring(0, 8);
        assertEquals(number.repeat(4000), text);
        return Integer.parseInt(number);
    }

    @Test
    @DisplayName("objects in a directory survive a restart")
    void restart() throws Exception {
        Entry entry = entries.entry(1000);
        try (BucketTier tier = BucketTier.open(config(server, S3ClientLibrary.AWS))) {
            tier.store(entry);
        }
        try (EmbeddedS3 again = EmbeddedS3.start(directory);
                BucketTier tier = BucketTier.open(config(again, S3ClientLibrary.AWS))) {
            assertThat(tier.load(entry.id())).isHitOf(entry);
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @Tag("exhaustive")
    @DisplayName("the check finds no problem with a sound server, in 89 requests, and keeps the"
            + " marker; a missing bucket is reported")
    void check(S3ClientLibrary client) throws Exception {
        server.resetRequests();
        try (BucketTier tier = BucketTier.open(config(server, client))) {
            List<CheckResult> results = tier.check();
            assertTrue(
                    results.stream().allMatch(CheckResult.Sound.class::isInstance),
                    results::toString);
            assertEquals(89, server.requests().total(), () -> server.requests().toString());
            try (ObjectStore store = ObjectStoreFactory.open(config(server, client))) {
                List<String> left = new ArrayList<>();
                store.list("", object -> left.add(object.key()));
                assertEquals(List.of("granary.json"), left);
            }
        }
        S3Config missing = S3Config.builder("no-such-bucket")
                .endpoint(server.endpoint())
                .client(client)
                .credentials(server.accessKey(), server.secretKey())
                .build();
        try (BucketTier tier = BucketTier.open(missing)) {
            CheckResult.Problem problem =
                    assertInstanceOf(CheckResult.Problem.class, tier.check().get(0));
            assertTrue(problem.cause().contains("no bucket no-such-bucket"), problem::toString);
        }
    }
}
