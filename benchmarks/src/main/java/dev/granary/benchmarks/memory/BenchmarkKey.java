package dev.granary.benchmarks.memory;

import org.jspecify.annotations.Nullable;

import java.util.SplittableRandom;

/**
 * A key with the equality of a descriptor: 200 characters, compared by value, the hash computed
 * once.
 */
record BenchmarkKey(String text, int hash) {
    private static final int LENGTH = 200;
    private static final int FIRST_LETTER = 'a';
    private static final int LETTERS = 26;

    /**
     * The key with this number. Its text is as if chosen at random, for its hash code to be: those
     * of numbers that are counted up lie side by side, and so would the places of their entries in
     * a hash table that does not spread them.
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
