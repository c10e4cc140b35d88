package dev.granary.cache;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.function.Consumer;

/**
 * An optional power of a {@link PersistentCache}: telling what it holds. For tools, not for look-ups: it may take time in proportion to the
 * number of entries.
 */
public interface EntryCatalog {
    /**
     * One entry as the store sees it, unread.
     *
     * @param namespace backend and target name, as {@link Target#path()} gives it
     * @param hash the {@link Id#hash()} that names it
     * @param bytes its length as stored
     * @param lastUsedMillis when it was last stored or used, in milliseconds since 1970, by the store's clock
     */
    record Listed(String namespace, Sha256 hash, long bytes, long lastUsedMillis) {
        /** The namespace of an entry that is so damaged that only the first eight bytes of its hash are known; the others are zero. */
        public static final String UNKNOWN_NAMESPACE = "unknown/unknown";

        private static final int KNOWN_DIGITS = 16;

        /** True where the hash begins with these hexadecimal digits, as far as it is known. */
        public boolean beginsWith(String digits) {
            boolean isKnown = !namespace.equals(UNKNOWN_NAMESPACE);
            return hash.hex().startsWith(isKnown ? digits : digits.substring(0, Math.min(KNOWN_DIGITS, digits.length())));
        }
    }

    /**
     * Hands every entry to {@code visitor}, in no order. Entries that come or go meanwhile may be seen or not.
     *
     * @throws IOException if the store could not be read, with the reason
     */
    void list(Consumer<Listed> visitor) throws IOException;

    /** Reads and verifies a listed entry without knowing its id beforehand. */
    LoadResult read(Listed listed);

    /** As {@link #read(Listed)}, for an entry that is used only as long as {@code memory} lives; see {@link PersistentCache#load(Id, Arena)}. */
    default LoadResult read(Listed listed, Arena memory) {
        return read(listed);
    }
}
