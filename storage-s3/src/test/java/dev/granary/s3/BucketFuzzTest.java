package dev.granary.s3;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a server says, mutated: the marker, and listings through both clients. */
class BucketFuzzTest {
    /** Listings come over a socket: the build takes fewer of them. */
    private static final long LISTINGS = Long.getLong("granary.fuzz.listings", 10);

    private static final List<String> DATES = List.of("+1000000000-01-01T00:00:00Z", "-1000000000-01-01T00:00:00Z", "+292278995-01-01T00:00:00Z", "", "2026-11-21T00:00:00.000Z");

    @Test
    @DisplayName("Fuzz: a marker is known, newer or broken, and a known one is written again")
    void marker() {
        byte[] sound = new StoreMarker(ConditionalWrites.FULL, ConditionalDelete.UNTESTED, 1_000_000, "granary 0.1.0").json();
        Fuzzer.run(FuzzTarget.of("marker", List.of(sound, "{\"format\":2}".getBytes(UTF_8), new String(sound, UTF_8).replaceAll("\"1970[^\"]*\"", "\"" + DATES.getFirst() + "\"").getBytes(UTF_8)), bytes -> {
            if (StoreMarker.parse(bytes) instanceof StoreMarker.Parsed.Known(StoreMarker marker)) {
                assertTrue(marker.json().length > 0);
            }
        }).words(DATES).allocating(200));
    }

    @ParameterizedTest
    @EnumSource(S3Client.class)
    @DisplayName("Fuzz: a listing is complete or unavailable, and every object has a key")
    void listing(S3Client client) throws Exception {
        String sound = """
                <?xml version="1.0" encoding="UTF-8"?>
                <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><Prefix>p/</Prefix><KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys>\
                <IsTruncated>false</IsTruncated><Contents><Key>p/a%20b</Key><LastModified>2026-11-21T00:00:00.000Z</LastModified><ETag>"e"</ETag><Size>1</Size>\
                <StorageClass>STANDARD</StorageClass></Contents><Contents><Key>p/c</Key><LastModified>2026-11-21T00:00:00.000Z</LastModified><ETag>e</ETag><Size>2</Size></Contents>\
                <EncodingType>url</EncodingType></ListBucketResult>""";
        List<byte[]> seeds = List.of(sound.getBytes(UTF_8), sound.replaceAll("<Key>[^<]*</Key>", "").getBytes(UTF_8), sound.replace("2026-11-21T00:00:00.000Z", DATES.getFirst()).getBytes(UTF_8));
        try (BadServer server = new BadServer();
                ObjectStore store = ObjectStores.open(S3Config.builder("bucket").endpoint(server.endpoint()).client(client).credentials("key", "secret")
                        .loadDeadline(Duration.ofMinutes(1)).requestTimeout(Duration.ofMinutes(1)).build())) {
            Fuzzer.run(FuzzTarget.of("listing " + client, seeds, bytes -> {
                server.answer(BadServer.body(200, "application/xml", new String(bytes, UTF_8)));
                ListResult result = store.list("p/", object -> {
                    assertNotNull(object.key());
                    assertNotNull(object.etag());
                });
                assertTrue(result instanceof ListResult.Complete || result instanceof ListResult.Unavailable);
            }).words(List.of("<Contents>", "</Contents>", "<Key>", "</Key>", "<Key/>", "<Size>-1</Size>", "<Size>99999999999999999999</Size>", "<LastModified>" + DATES.getFirst() + "</LastModified>",
                    "<LastModified>garbage</LastModified>", "true", "<NextContinuationToken>x</NextContinuationToken>", "&#0;", "&amp;", "%", "%zz", "<!DOCTYPE a [<!ENTITY b \"c\">]>",
                    new String(new byte[] {(byte) 0xff}, ISO_8859_1))).allocating(20_000), LISTINGS);
        }
    }
}
