package dev.granary.cache;

/**
 * Everything that decides what is compiled, without the compiled thing. Immutable; equality and hash code are by value and cheap (the
 * hash is computed once), because a descriptor is the key of the in-memory cache.
 */
public interface PrimitiveDescriptor {
    /** The id of the binaries; the empty id, with its reason, where this primitive cannot be cached. */
    Id getId();

    /** What the binaries must fit; part of the equality. */
    Target target();

    /** A short name for people; not part of the id. */
    String name();

    /** The key in words, one line, for people who look into a store; not part of the id. */
    default String readableKey() {
        return name();
    }
}
