package dev.granary.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;

import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Claims of machines on entries that a bucket lacks: small objects that say who compiles, so that
 * others wait for the entry. A claim makes nothing safe, since the entry is created conditionally
 * itself: it needs no lease, is never deleted by its holder, and a lost one costs a compile.
 * Thread-safe.
 */
public final class BucketClaims {
    private static final int MAX_BYTES = 1024;
    private static final Pattern CONTENT =
            Pattern.compile("claim 1\n([0-9a-f]{16,64})\n([0-9]{1,9})\n(compiling|failed)\n");

    private final BucketLayout layout;
    private final ObjectStore store;

    BucketClaims(BucketLayout layout, ObjectStore store) {
        this.layout = layout;
        this.store = store;
    }

    /**
     * The claim on an entry.
     *
     * @param nonce the random name of the holder, in hexadecimal digits
     * @param expected the time that the holder expects to compile; zero if unknown
     * @param hasFailed whether its compile has failed
     * @param age the time since the claim was written, by the server's clock; empty if unknown
     * @param version the version of the object
     */
    public record Holder(
            String nonce,
            Duration expected,
            boolean hasFailed,
            Optional<Duration> age,
            String version) {}

    /** Result of a request for a claim. */
    public sealed interface Result {
        /** The caller has the claim, which is that version of the object. */
        record Mine(String version) implements Result {}

        /** Another machine has it. */
        record Taken(Holder holder) implements Result {}

        /** There is no claim to have or to wait for; the cause is for people. */
        record Unavailable(String cause) implements Result {}
    }

    /**
     * Creates the claim on an entry, unless there is one.
     *
     * @param nonce the random name of the caller, for this claim alone
     * @param expected the time that the compile is expected to take; zero if unknown
     */
    public Result claim(Id id, String nonce, Duration expected) {
        return result(
                store.putIfAbsent(layout.claim(id), content(nonce, expected, "compiling")),
                id,
                nonce);
    }

    /** Takes over the claim of a holder that seems to have ended. */
    public Result takeOver(Id id, Holder holder, String nonce, Duration expected) {
        byte[] content = content(nonce, expected, "compiling");
        return result(store.replaceIfMatch(layout.claim(id), holder.version(), content), id, nonce);
    }

    /** Records that the compile of the caller has failed, which ends the waits for it. */
    public void fail(Id id, Result.Mine claim, String nonce) {
        store.replaceIfMatch(
                layout.claim(id), claim.version(), content(nonce, Duration.ZERO, "failed"));
    }

    /**
     * Loads the unpacked entry, as which a claimed one is published, whether it was absent a moment
     * ago or not.
     */
    public Optional<Entry> poll(Id id) {
        return store.get(layout.entry(id), EntryFormat.MAX_BYTES) instanceof GetResult.Found found
                        && EntryFormat.decode(found.bytes(), id, VerificationLevel.CONTENT_HASH)
                                instanceof LoadResult.Hit(Entry entry)
                ? Optional.of(entry)
                : Optional.empty();
    }

    /** A failed precondition may be the answer to the second sending of a write that succeeded. */
    private Result result(WriteResult written, Id id, String nonce) {
        return switch (written) {
            case WriteResult.Done(String version) -> new Result.Mine(version);
            case WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> {
                Result seen = read(id);
                yield seen instanceof Result.Taken(Holder holder)
                                && holder.nonce().equals(nonce)
                        ? new Result.Mine(holder.version())
                        : seen;
            }
            case WriteResult.NotAllowed refused ->
                new Result.Unavailable(refused.failure().toString());
            case WriteResult.NotSent unsent ->
                new Result.Unavailable(unsent.failure().toString());
            case WriteResult.Unknown lost ->
                new Result.Unavailable(lost.failure().toString());
        };
    }

    /** Returns the claim as another machine sees it. */
    public Result read(Id id) {
        if (!(store.get(layout.claim(id), MAX_BYTES) instanceof GetResult.Found found)) {
            return new Result.Unavailable("the claim cannot be read");
        }
        Matcher content =
                CONTENT.matcher(new String(found.bytes().toArray(ValueLayout.JAVA_BYTE), UTF_8));
        return content.matches()
                ? new Result.Taken(new Holder(
                        content.group(1),
                        Duration.ofMillis(Long.parseLong(content.group(2))),
                        content.group(3).equals("failed"),
                        found.dates().age(),
                        found.etag()))
                : new Result.Unavailable("the claim is damaged");
    }

    private static byte[] content(String nonce, Duration expected, String state) {
        return ("claim 1\n" + nonce + "\n" + expected.toMillis() + "\n" + state + "\n")
                .getBytes(UTF_8);
    }
}
