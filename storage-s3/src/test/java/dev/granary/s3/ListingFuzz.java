package dev.granary.s3;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/** The fuzzing of a client by listings. */
public final class ListingFuzz {
    private static final String HEAD = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    private static final String OBJECT = "<Contents><Key>p/a%20b</Key><LastModified>2026-11-21T00:00:00.000Z</LastModified><ETag>\"e\"</ETag><Size>1</Size>"
            + "<StorageClass>STANDARD</StorageClass></Contents>";
    private static final String FUTURE = "<LastModified>+1000000000-01-01T00:00:00Z</LastModified>";
    private static final List<String> SEEDS = List.of(
            HEAD + "<Name>bucket</Name><Prefix>p/</Prefix><KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>" + OBJECT
                    + "<Contents><Key>p/c</Key><LastModified>2026-11-21T00:00:00Z</LastModified><ETag>e</ETag><Size>2</Size></Contents><EncodingType>url</EncodingType></ListBucketResult>",
            HEAD + "<IsTruncated>false</IsTruncated>" + OBJECT + "</ListBucketResult>",
            HEAD + "<IsTruncated>false</IsTruncated>" + OBJECT.replaceAll("<Key>.*</Key>", "") + "</ListBucketResult>",
            HEAD + "<IsTruncated>false</IsTruncated>" + OBJECT.replaceAll("<LastM.*dified>", FUTURE) + "</ListBucketResult>",
            HEAD + "<IsTruncated>false</IsTruncated>" + OBJECT.replace("<Size>1<", "<Size>-1<") + "</ListBucketResult>",
            HEAD + "<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>" + OBJECT + "</ListBucketResult>",
            "<ListBucketResult><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType></ListBucketResult>");
    private static final List<String> WORDS = List.of("<Contents>", "</Contents>", "<Key>", "</Key>", "<Key/>", "<Size>-1</Size>", "<Size>99999999999999999999</Size>", FUTURE,
            "<LastModified>garbage</LastModified>", "true", "<NextContinuationToken>x</NextContinuationToken>", "&#0;", "&amp;", "%", "%zz", "<!DOCTYPE a [<!ENTITY b \"c\">]>",
            "\u00ff", "<![CDATA[", "]]>", "<!--", "xmlns:a=\"b\" ", "a:");

    private ListingFuzz() {}

    /** How many inputs a client gets without a socket: few in the build, since most of their time goes into the loading of the client. */
    public static long runs() {
        return Long.getLong("granary.fuzz.runs", 100);
    }

    /**
     * Runs mutated listings, each of which the store gets as the answer to its requests; first a sound one, which must be read whole.
     *
     * @param answer takes the body of all answers to come
     */
    public static void run(String name, Consumer<byte[]> answer, ObjectStore store, long runs) {
        answer.accept(SEEDS.getFirst().getBytes(UTF_8));
        assertEquals(new ListResult.Complete(2), store.list("p/", _ -> {}));
        Fuzzer.run(FuzzTarget.of(name, SEEDS.stream().map(seed -> seed.getBytes(UTF_8)).toList(), bytes -> {
            answer.accept(bytes);
            AtomicLong objects = new AtomicLong();
            switch (store.list("p/", object -> {
                assertTrue(object.key().startsWith("p/"), object.key());
                assertTrue(object.bytes() >= 0);
                assertNotNull(object.etag());
                objects.incrementAndGet();
            })) {
                case ListResult.Complete(long count) -> assertEquals(objects.get(), count);
                case ListResult.Unavailable(var failure) -> assertNotNull(failure);
            }
        }).words(WORDS).allocating(20_000), runs);
    }
}
