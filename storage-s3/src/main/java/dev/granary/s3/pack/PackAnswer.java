package dev.granary.s3.pack;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;

/** What a target's packs say of an id. */
public sealed interface PackAnswer {
    /**
     * A pack has its entry, verified.
     *
     * @param entry the entry
     */
    record Hit(Entry entry) implements PackAnswer {}

    /**
     * A pack should have it, and what lies there is something else. It may have an entry of its own.
     *
     * @param damage what is wrong
     * @param detail where and how, for people
     */
    record Damaged(DamageKind damage, String detail) implements PackAnswer {}

    /** No pack has it; it may have an entry of its own. */
    record NotPacked() implements PackAnswer {}

    /** No pack has it, and nothing lies outside of packs. */
    record Absent() implements PackAnswer {}

    /**
     * Nobody can say what packs there are. It may have an entry of its own; where it has none, it is not known to be absent.
     *
     * @param cause why, for people
     */
    record Unconfirmed(String cause) implements PackAnswer {}

    /**
     * Nobody can say.
     *
     * @param cause why, for people
     */
    record Unavailable(String cause) implements PackAnswer {}

    /** The one {@link NotPacked}. */
    PackAnswer NOT_PACKED = new NotPacked();

    /** The one {@link Absent}. */
    PackAnswer ABSENT = new Absent();
}
