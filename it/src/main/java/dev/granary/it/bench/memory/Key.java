package dev.granary.it.bench.memory;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** A key with the equality of a descriptor: 200 characters, compared by value, the hash computed once. */
record Key(String text, int hash) {
    static Key of(int number) {
        String text = String.format(Locale.ROOT, "%0200d", number);
        return new Key(text, text.hashCode());
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return this == other || (other instanceof Key that && hash == that.hash && text.equals(that.text));
    }
}
