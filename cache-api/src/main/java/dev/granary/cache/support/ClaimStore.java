package dev.granary.cache.support;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;

import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Claims of machines on entries that a shared store lacks: small files or objects that say who
 * compiles, so that others wait for the entry. A claim makes nothing safe, since the store keeps
 * one entry of an id anyway: it needs no lease, is never deleted by its holder, and a lost one
 * costs a compile. Thread-safe.
 */
public interface ClaimStore {
    /**
     * The content of a claim.
     *
     * @param nonce the random name of the holder, for this claim alone, in hexadecimal digits
     * @param expected the time that the holder expects to compile; zero if unknown
     * @param state the state of the holder
     */
    record Claim(String nonce, Duration expected, State state) {
        /** State of the holder of a claim. */
        public enum State {
            COMPILING,
            /** It compiles many, and publishes them together, minutes later. */
            PACKING,
            FAILED
        }

        /** The longest content that is read, in bytes. */
        public static final int MAX_BYTES = 1024;

        private static final Pattern CONTENT =
                Pattern.compile("claim 1\n([0-9a-f]{16,64})\n([0-9]{1,9})\n([a-z]+)\n");

        /** Returns the claim as it is stored. */
        public byte[] encode() {
            return ("claim 1\n" + nonce + "\n" + expected.toMillis() + "\n" + word(state) + "\n")
                    .getBytes(UTF_8);
        }

        /** Returns a stored claim; empty if the content is none. */
        public static Optional<Claim> decode(byte[] stored) {
            Matcher content = CONTENT.matcher(new String(stored, UTF_8));
            return Arrays.stream(State.values())
                    .filter(state -> content.matches() && word(state).equals(content.group(3)))
                    .findFirst()
                    .map(state -> new Claim(
                            content.group(1),
                            Duration.ofMillis(Long.parseLong(content.group(2))),
                            state));
        }

        private static String word(State state) {
            return state.name().toLowerCase(Locale.ROOT);
        }

        /** Returns true if the compile of the holder has failed. */
        public boolean hasFailed() {
            return state == State.FAILED;
        }

        /** Returns the claim after a compile that failed. */
        public Claim failed() {
            return new Claim(nonce, Duration.ZERO, State.FAILED);
        }
    }

    /** Result of a request for a claim. */
    sealed interface Result {
        /**
         * The caller has the claim.
         *
         * @param version the version of its content in the store
         */
        record Mine(String version) implements Result {}

        /**
         * Another machine has it.
         *
         * @param age the time since it was written, as the difference of two dates of the store;
         *     empty if unknown
         */
        record Taken(Claim claim, Optional<Duration> age, String version) implements Result {}

        /** There is no claim to have or to wait for; the cause is for people. */
        record Unavailable(String cause) implements Result {}
    }

    /** Creates the claim on an entry, unless there is one. */
    Result claim(Id id, Claim claim);

    /** Takes over the claim of a holder that seems to have ended; one of several callers can. */
    Result takeOver(Id id, Result.Taken old, Claim claim);

    /** Records that the compile of the caller has failed, which ends the waits for it. */
    void fail(Id id, Result.Mine mine, Claim claim);

    /** Returns the claim as another machine sees it; never {@link Result.Mine}. */
    Result read(Id id);

    /** Loads the claimed entry, whether it was absent a moment ago or not. */
    LoadResult poll(Id id);
}
