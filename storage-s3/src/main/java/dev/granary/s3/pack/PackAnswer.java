package dev.granary.s3.pack;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;

/** The result of a lookup in a target's packs. */
public sealed interface PackAnswer {
    /**
     * A pack has the entry, verified.
     *
     * @param entry the entry
     */
    record Hit(Entry entry) implements PackAnswer {}

    /**
     * A pack should have the entry, but its bytes there are damaged. An unpacked entry may exist.
     *
     * @param damage the kind of damage
     * @param detail the place and nature of the damage, for people
     */
    record Damaged(DamageKind damage, String detail) implements PackAnswer {}

    /** No pack has the entry; an unpacked entry may exist. */
    record NotPacked() implements PackAnswer {}

    /** No pack has the entry, and no unpacked entry exists. */
    record Absent() implements PackAnswer {}

    /**
     * The manifest is not known, or too old. An unpacked entry may exist; if none does, the id is
     * not known to be absent.
     *
     * @param cause the cause, for people
     */
    record Unconfirmed(String cause) implements PackAnswer {}

    /**
     * The lookup failed.
     *
     * @param cause the cause, for people
     */
    record Unavailable(String cause) implements PackAnswer {}

    /** The shared {@link NotPacked}. */
    PackAnswer NOT_PACKED = new NotPacked();

    /** The shared {@link Absent}. */
    PackAnswer ABSENT = new Absent();
}
