package dev.granary.benchmarks.memory;

import org.jspecify.annotations.Nullable;

import java.util.SplittableRandom;

/**
 * A key with the equality of a descriptor: 200 characters that are compared by value, and a hash
 * code that is computed once.
 */
record BenchmarkKey(String text, int hash) {
    private static final int LENGTH = 200;
    private static final int FIRST_LETTER = 'a';
    private static final int LETTERS = 26;

    /**
     * Creates the key with this number. The number is scattered over the text, as hash codes of
     * descriptors are. Consecutive hash codes would lie side by side in a table that does not
     * spread them.
     */
    static BenchmarkKey of(int number) {
        SplittableRandom random = new SplittableRandom(number);
        StringBuilder text = new StringBuilder(LENGTH);
        while (text.length() < LENGTH) {
            text.append((char) (FIRST_LETTER + random.nextInt(LETTERS)));
        }
        return new BenchmarkKey(text.toString(), text.toString().hashCode());
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return this == other
                || (other instanceof BenchmarkKey that
                        && hash == that.hash
                        && text.equals(that.text));
    }
}
