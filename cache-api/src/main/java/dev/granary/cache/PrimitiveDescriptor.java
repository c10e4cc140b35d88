package dev.granary.cache;

/**
 * The complete input of a compile, without its result. A descriptor is the key of the in-memory
 * cache: it is immutable, and equality and hash code are by value and cheap (the hash is computed
 * once).
 */
public interface PrimitiveDescriptor {
    /**
     * Returns the id of the binaries, or the empty id with its reason if this primitive cannot be
     * cached.
     */
    Id getId();

    /** Returns the target of the binaries; part of the equality. */
    Target target();

    /** Returns a short name for people; not part of the id. */
    String name();

    /**
     * Returns the key as one line of readable text, for people who inspect a store; not part of the
     * id.
     */
    default String readableKey() {
        return name();
    }
}
