package dev.granary.testing;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Map;

/** Tests of {@link BucketAssertions}: each assertion accepts its own case and no other. */
class BucketAssertionsTest {
    private final StoreFailure failure = StoreFailure.of(StoreFailure.Kind.TIMEOUT, "no answer");

    @Test
    @DisplayName("reads, listings and writes: an assertion accepts its own case only, returns its"
            + " content, and shows any other result")
    void requests() {
        GetResult.Found found = new GetResult.Found(MemorySegment.ofArray(new byte[3]), "e");
        GetResult tooLarge = new GetResult.TooLarge(5);
        GetResult unread = new GetResult.Unavailable(failure);
        ResultAssertVerifier.eachAcceptsItsOwn(
                GetResult.class,
                Map.of(
                        found,
                        result -> assertSame(found, assertThat(result).isFound()),
                        GetResult.ABSENT,
                        result -> assertThat(result).isAbsent(),
                        tooLarge,
                        result -> assertEquals(5, assertThat(result).isTooLarge()),
                        unread,
                        result -> assertSame(failure, assertThat(result).isUnavailable())));
        HeadResult.Found there = new HeadResult.Found(3, "e", ServerTimestamps.NONE);
        HeadResult notThere = new HeadResult.Unavailable(failure);
        ResultAssertVerifier.eachAcceptsItsOwn(
                HeadResult.class,
                Map.of(
                        there,
                        result -> assertSame(there, assertThat(result).isFound()),
                        HeadResult.ABSENT,
                        result -> assertThat(result).isAbsent(),
                        notThere,
                        result -> assertSame(failure, assertThat(result).isUnavailable())));
        ListResult complete = new ListResult.Complete(7);
        ListResult cut = new ListResult.Unavailable(failure);
        ResultAssertVerifier.eachAcceptsItsOwn(
                ListResult.class,
                Map.of(
                        complete, result -> assertEquals(7, assertThat(result).isComplete()),
                        cut, result -> assertSame(failure, assertThat(result).isUnavailable())));
        WriteResult done = new WriteResult.Done("e");
        WriteResult notAllowed = new WriteResult.NotAllowed(failure);
        WriteResult notSent = new WriteResult.NotSent(failure);
        WriteResult unknown = new WriteResult.Unknown(failure);
        ResultAssertVerifier.eachAcceptsItsOwn(
                WriteResult.class,
                Map.of(
                        done,
                        result -> assertEquals("e", assertThat(result).isDone()),
                        WriteResult.PRECONDITION_FAILED,
                        result -> assertThat(result).isPreconditionFailed(),
                        WriteResult.CONFLICT,
                        result -> assertThat(result).isConflict(),
                        notAllowed,
                        result -> assertSame(failure, assertThat(result).isNotAllowed()),
                        notSent,
                        result -> assertSame(failure, assertThat(result).isNotSent()),
                        unknown,
                        result -> assertSame(failure, assertThat(result).isUnknown())));
    }

    @Test
    @DisplayName("decoding: an assertion accepts its own case only, returns its content, and shows"
            + " any other result")
    void decoding() {
        PackBuilder.Pack pack = new PackFixture(getClass().getName())
                .pack(TestEntries.entry(TestEntries.id("one"), KernelBinaries.of(new byte[10])));
        long indexOffset = pack.info(1).indexOffset();
        PackIndex.Read index = PackIndex.decode(
                Arrays.copyOfRange(pack.body(), (int) indexOffset, pack.body().length),
                indexOffset,
                PackFixture.NAMESPACE);
        PackIndex.Read noIndex = new PackIndex.Read.Bad(DamageKind.CORRUPT, "byte 7");
        ResultAssertVerifier.eachAcceptsItsOwn(
                PackIndex.Read.class,
                Map.of(
                        index,
                        result -> assertEquals(
                                1, assertThat(result).isOk().locations().size()),
                        noIndex,
                        result -> assertSame(noIndex, assertThat(result).isBad())));
        assertThat(noIndex).isBad(DamageKind.CORRUPT);
        ResultAssertVerifier.refuses(
                result -> assertThat(result).isBad(DamageKind.TRUNCATED), noIndex);
    }
}
