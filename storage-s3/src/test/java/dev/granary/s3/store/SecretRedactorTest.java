package dev.granary.s3.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Locale;

/** Tests of runs of letters and digits in messages. */
class SecretRedactorTest {
    private static final String LOWER = "abcdefghijklmnopqrstuvwxyz";

    @Test
    @DisplayName("a run of 32 characters with both cases and a digit, anywhere in it, is redacted;"
            + " others stay")
    void runs() {
        for (String token :
                new String[] {"1A" + LOWER + "abcd", LOWER + "abcdA1", LOWER + "1A++//=="}) {
            assertEquals(
                    "<[hidden]> and [hidden]",
                    SecretRedactor.withoutTokens("<" + token + "> and " + token));
        }
        for (String plain : new String[] {
            "1A" + LOWER + "abc",
            LOWER + "abcdef",
            LOWER + "12345678",
            LOWER.toUpperCase(Locale.ROOT) + "12345678",
            LOWER + "ABCDEFGH",
            LOWER + "$A1 \\"
        }) {
            assertEquals(plain, SecretRedactor.withoutTokens(plain));
        }
    }

    @Test
    @DisplayName("a long run that is no token is examined in linear time")
    void linear() {
        Counted text = new Counted("a".repeat(4096));
        assertEquals(text.text, SecretRedactor.withoutTokens(text));
        assertTrue(text.accesses < 3 * 4096, () -> text.accesses + " characters were examined");
    }

    /** A text that counts accesses to its characters. */
    private static final class Counted implements CharSequence {
        private final String text;
        private long accesses;

        Counted(String text) {
            this.text = text;
        }

        @Override
        public int length() {
            return text.length();
        }

        @Override
        public char charAt(int index) {
            accesses++;
            return text.charAt(index);
        }

        @Override
        public CharSequence subSequence(int start, int end) {
            return text.subSequence(start, end);
        }

        @Override
        public String toString() {
            return text;
        }
    }
}
