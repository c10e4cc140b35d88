package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.probe.CapabilityMarker;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.s3.store.ObjectStore;
import dev.granary.testing.TestRuns;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.time.Duration;
import java.util.List;

/** Fuzz tests of server responses: the marker, and listings through both clients. */
class BucketFuzzTest {
    /**
     * Most of the time is spent in sockets; {@code aws} and {@code minio} have tests without them.
     */
    private static final long LISTINGS = TestRuns.count(40);

    @Test
    @DisplayName("Fuzz: a marker is known, newer or broken, and a known one is written again")
    void marker() {
        byte[] sound = TestProcess.marker(
                S3Config.builder("bucket").build(), ConditionalWriteSupport.FULL);
        Fuzzer.run(FuzzTarget.of(
                        "marker",
                        List.of(
                                sound,
                                "{\"format\":3}".getBytes(UTF_8),
                                new String(sound, UTF_8)
                                        .replace("known", "probing")
                                        .getBytes(UTF_8)),
                        bytes -> CapabilityMarker.parse(bytes)
                                .ifPresent(marker -> assertTrue(marker.json().length > 0)))
                .words(List.of("known", "probing", "NONE", "\"nonce\":\"0\""))
                .allocating(200));
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("Fuzz: a listing is complete or unavailable, and every object has a key")
    void listing(S3ClientLibrary client) throws Exception {
        try (ScriptedHttpServer server = new ScriptedHttpServer();
                ObjectStore store = ObjectStoreFactory.open(S3Config.builder("bucket")
                        .endpoint(server.endpoint())
                        .client(client)
                        .credentials("key", "secret")
                        .loadDeadline(Duration.ofMinutes(1))
                        .requestTimeout(Duration.ofMinutes(1))
                        .build())) {
            ListingFuzz.run(
                    "listing " + client,
                    bytes -> server.answer(ScriptedHttpServer.body(200, "application/xml", bytes)),
                    store,
                    LISTINGS);
        }
    }
}
