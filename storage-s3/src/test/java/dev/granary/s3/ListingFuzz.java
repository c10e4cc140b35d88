package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.testing.TestRuns;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Fuzzing of a client with listings. */
public final class ListingFuzz {
    private static final String HEAD = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            + "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
            + "<Name>b</Name><Prefix>p/</Prefix><MaxKeys>9</MaxKeys>";
    private static final String OBJECT =
            "<Contents><Key>p/a%20b</Key><LastModified>2026-11-21T00:00:00.000Z</LastModified>"
                    + "<ETag>\"e\"</ETag><Size>1</Size>"
                    + "<StorageClass>STANDARD</StorageClass></Contents>";
    private static final String FUTURE = "<LastModified>+1000000000-01-01T00:00:00Z</LastModified>";
    private static final String END = "</ListBucketResult>";

    /** Sound listings, each with the number of its objects. */
    private static final Map<String, Integer> SOUND = Map.of(
            HEAD + "<KeyCount>2</KeyCount><IsTruncated>false</IsTruncated>" + OBJECT
                            + "<Contents><Key>p/c</Key>"
                            + "<LastModified>2026-11-21T00:00:00Z</LastModified><ETag>e</ETag>"
                            + "<Size>2</Size></Contents><EncodingType>url</EncodingType>"
                            + END,
                    2,
            HEAD + "<IsTruncated>false</IsTruncated>" + OBJECT + END, 1,
            HEAD + "<IsTruncated>false</IsTruncated>" + OBJECT.replace("<Size>1<", "<Size>-1<")
                            + END,
                    1,
            HEAD + "<IsTruncated>false</IsTruncated><EncodingType>url</EncodingType>" + END, 0);

    private static final List<String> OTHER = List.of(
            HEAD + "<IsTruncated>false</IsTruncated>" + OBJECT.replaceAll("<Key>.*</Key>", "")
                    + END,
            HEAD + "<IsTruncated>false</IsTruncated>" + OBJECT.replaceAll("<Key>.*</Key>", "<Key/>")
                    + END,
            HEAD + "<IsTruncated>false</IsTruncated>" + OBJECT.replaceAll("<LastM.*dified>", FUTURE)
                    + END,
            HEAD + "<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>"
                    + OBJECT + END);
    private static final List<String> WORDS = List.of(
            "<Contents>",
            "</Contents>",
            "<Key>",
            "</Key>",
            "<Key/>",
            "<Size>-1</Size>",
            "<Size>99999999999999999999</Size>",
            FUTURE,
            "<LastModified>garbage</LastModified>",
            "true",
            "<NextContinuationToken>x</NextContinuationToken>",
            "&#0;",
            "&amp;",
            "%",
            "%zz",
            "<!DOCTYPE a [<!ENTITY b \"c\">]>",
            "\u00ff",
            "<![CDATA[",
            "]]>",
            "<!--",
            "xmlns:a=\"b\" ",
            "a:");

    private ListingFuzz() {}

    /**
     * Returns the number of inputs for a client without a socket: few in the build, since loading
     * the client takes most of the time.
     */
    public static long runs() {
        return TestRuns.count(40);
    }

    /**
     * Runs mutated listings as responses to the store, after some sound ones, which must be read
     * completely.
     *
     * @param answer sets the body of all further responses
     */
    public static void run(String name, Consumer<byte[]> answer, ObjectStore store, long runs) {
        SOUND.forEach((listing, objects) -> {
            answer.accept(listing.getBytes(UTF_8));
            assertEquals(new ListResult.Complete(objects), store.list("p/", _ -> {}), listing);
        });
        List<byte[]> seeds = Stream.concat(SOUND.keySet().stream().sorted(), OTHER.stream())
                .map(seed -> seed.getBytes(UTF_8))
                .toList();
        Fuzzer.run(
                FuzzTarget.of(name, seeds, bytes -> {
                            answer.accept(bytes);
                            AtomicLong objects = new AtomicLong();
                            switch (store.list("p/", object -> {
                                assertTrue(object.key().startsWith("p/"), object.key());
                                assertTrue(object.bytes() >= 0);
                                assertNotNull(object.etag());
                                objects.incrementAndGet();
                            })) {
                                case ListResult.Complete(long count) ->
                                    assertEquals(objects.get(), count);
                                case ListResult.Unavailable(var failure) -> assertNotNull(failure);
                            }
                        })
                        .words(WORDS)
                        .allocating(20_000),
                runs);
    }
}
