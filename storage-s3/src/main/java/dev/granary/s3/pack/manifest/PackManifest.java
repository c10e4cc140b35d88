package dev.granary.s3.pack.manifest;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.zip.CRC32C;

/**
 * A manifest: one version of the complete list of a target's packs. Immutable.
 *
 * @param number its number, one more than that of the manifest before; {@link #NONE} has 0
 * @param unpackedEntries whether the target may have unpacked entries
 * @param packs the packs; an entry in several is read from the first
 * @param retired packs that are no longer named, to be removed when no reader can be using them
 */
public record PackManifest(
        long number, UnpackedEntries unpackedEntries, List<PackInfo> packs, List<Retired> retired) {
    /** The state before the first manifest. */
    public static final PackManifest NONE =
            new PackManifest(0, UnpackedEntries.POSSIBLE, List.of(), List.of());

    /** The largest size of a manifest in bytes. */
    public static final int MAX_BYTES = 16 << 20;

    /** The largest number of entries in all packs of a manifest; their indexes have 224 MiB. */
    static final int MAX_ENTRIES = 1 << 22;

    private static final byte[] MAGIC = "GRANMANI".getBytes(US_ASCII);
    private static final int VERSION = 1;
    private static final int SEALED_FLAG = 1;
    private static final int SEALING_FLAG = 1 << 1;
    private static final int FIXED_BYTES = MAGIC.length + 5 * Integer.BYTES + Long.BYTES;

    /** The number of bytes that identify an object as the manifest of a number. */
    static final int HEAD_BYTES = MAGIC.length + 2 * Integer.BYTES + Long.BYTES;

    /** Whether the target may have unpacked entries. */
    public enum UnpackedEntries {
        /** An id in no pack may have an unpacked entry: lookups request it. */
        POSSIBLE,
        /**
         * The same for lookups; a compaction is about to commit {@link #NONE}. A process that
         * stores an unpacked entry commits {@link #POSSIBLE}; the compaction then does not seal,
         * since its listing may be older than that entry.
         */
        SEALING,
        /** An id in no pack is absent: lookups send no request. */
        NONE
    }

    /**
     * A pack that is no longer named.
     *
     * @param name its name
     * @param since the number of the first manifest that did not name it
     */
    public record Retired(Sha256 name, long since) {}

    public PackManifest {
        packs = List.copyOf(packs);
        retired = List.copyOf(retired);
    }

    /** The outcome of decoding a manifest. */
    public sealed interface Read {
        /** A sound manifest. */
        record Ok(PackManifest manifest) implements Read {}

        /** A damaged or foreign manifest. */
        record Bad(DamageKind damage, String detail) implements Read {}
    }

    /** Returns the next manifest, with one more pack. */
    public PackManifest plus(PackInfo pack) {
        List<PackInfo> all = new ArrayList<>(packs);
        all.add(pack.since(number + 1));
        return new PackManifest(number + 1, unpackedEntries, all, retired);
    }

    /**
     * Returns the next manifest, in which packs replace others, which are retired. They take the
     * place of the first replaced pack, and come last without one. An entry is read from the first
     * pack that has it, so their place among the remaining packs matters.
     */
    public PackManifest replacing(
            Set<Sha256> replaced, List<PackInfo> successors, UnpackedEntries unpackedEntries) {
        List<PackInfo> added =
                successors.stream().map(pack -> pack.since(number + 1)).toList();
        List<PackInfo> all = new ArrayList<>();
        Set<Retired> gone = new LinkedHashSet<>(retired);
        boolean isAdded = false;
        for (PackInfo pack : packs) {
            if (!replaced.contains(pack.name())) {
                all.add(pack);
                continue;
            }
            gone.add(new Retired(pack.name(), number + 1));
            if (!isAdded) {
                all.addAll(added);
                isAdded = true;
            }
        }
        if (!isAdded) {
            all.addAll(added);
        }
        return new PackManifest(number + 1, unpackedEntries, all, List.copyOf(gone));
    }

    /** Returns the next manifest, with the same packs. */
    public PackManifest with(UnpackedEntries unpackedEntries) {
        return new PackManifest(number + 1, unpackedEntries, packs, retired);
    }

    /**
     * Returns the next manifest, in which packs replace unusable ones. A pack that was retired is
     * listed again and not retired any more.
     */
    public PackManifest restoring(Set<Sha256> unusable, List<PackInfo> restored) {
        Set<Sha256> back = new LinkedHashSet<>();
        restored.forEach(pack -> back.add(pack.name()));
        PackManifest replaced = replacing(unusable, restored, UnpackedEntries.POSSIBLE);
        return new PackManifest(
                replaced.number(),
                replaced.unpackedEntries(),
                replaced.packs(),
                replaced.retired().stream()
                        .filter(one -> !back.contains(one.name()))
                        .toList());
    }

    /** Returns true if both manifests have the same bytes, number included. */
    public boolean isSameAs(PackManifest other) {
        return number == other.number && Arrays.equals(encode(), other.encode());
    }

    /** Returns true if a pack of that name is named. */
    public boolean names(Sha256 pack) {
        return packs.stream().anyMatch(one -> one.name().equals(pack));
    }

    /** Returns true if a pack of that name is named or retired. */
    public boolean namesOrRetires(Sha256 pack) {
        return names(pack) || retired.stream().anyMatch(one -> one.name().equals(pack));
    }

    /** Returns the next manifest, without these retired packs. */
    public PackManifest withoutRetired(Set<Retired> removed) {
        return new PackManifest(
                number + 1,
                unpackedEntries,
                packs,
                retired.stream().filter(one -> !removed.contains(one)).toList());
    }

    /** Returns the number of entries in all packs; an entry in two packs counts twice. */
    public long entries() {
        return packs.stream().mapToLong(PackInfo::entries).sum();
    }

    /** Returns the size of all packs in bytes. */
    public long bytes() {
        return packs.stream().mapToLong(PackInfo::bytes).sum();
    }

    /** Returns true if the manifest is within the limits that readers accept. */
    boolean isReadable() {
        return entries() <= MAX_ENTRIES && byteSize() <= MAX_BYTES;
    }

    private long byteSize() {
        return FIXED_BYTES
                + packs.stream().mapToLong(PackInfo::byteSize).sum()
                + retired.size() * (long) (Sha256.BYTES + Long.BYTES);
    }

    /** Returns the bytes as stored. */
    public byte[] encode() {
        ByteBuffer out = ByteBuffer.allocate((int) byteSize());
        out.put(MAGIC).putInt(VERSION).putInt(flags(unpackedEntries)).putLong(number);
        out.putInt(packs.size());
        packs.forEach(pack -> pack.writeTo(out));
        out.putInt(retired.size());
        retired.forEach(one -> out.put(one.name().bytes()).putLong(one.since()));
        return out.putInt(PackIndex.crc(out.array(), 0, out.position())).array();
    }

    private static int flags(UnpackedEntries unpackedEntries) {
        return switch (unpackedEntries) {
            case POSSIBLE -> 0;
            case SEALING -> SEALING_FLAG;
            case NONE -> SEALED_FLAG;
        };
    }

    /**
     * Returns true if an object that begins with these bytes is the manifest of that number, in any
     * version. An object of fewer than {@link #HEAD_BYTES} bytes counts as a truncated manifest of
     * that number.
     */
    static boolean isHeadOf(byte[] first, long number) {
        int length = Math.min(first.length, MAGIC.length);
        return length > 0
                && Arrays.equals(first, 0, length, MAGIC, 0, length)
                && (first.length < HEAD_BYTES
                        || ByteBuffer.wrap(first).getLong(HEAD_BYTES - Long.BYTES) == number);
    }

    /** Decodes stored bytes, and checks them completely. */
    public static Read decode(byte[] stored) {
        if (stored.length < FIXED_BYTES) {
            return new Read.Bad(
                    DamageKind.TRUNCATED, stored.length + " bytes are too few for a manifest");
        }
        if (!Arrays.equals(stored, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
            return new Read.Bad(DamageKind.FOREIGN, "not a manifest");
        }
        ByteBuffer in = ByteBuffer.wrap(stored, 0, stored.length - Integer.BYTES);
        CRC32C crc = new CRC32C();
        crc.update(in.duplicate());
        if ((int) crc.getValue() != ByteBuffer.wrap(stored).getInt(stored.length - Integer.BYTES)) {
            return new Read.Bad(DamageKind.CORRUPT, "the manifest does not match its checksum");
        }
        in.position(MAGIC.length);
        int version = in.getInt();
        int flags = in.getInt();
        Optional<UnpackedEntries> unpackedEntries = Arrays.stream(UnpackedEntries.values())
                .filter(value -> flags(value) == flags)
                .findFirst();
        if (version != VERSION || unpackedEntries.isEmpty()) {
            return new Read.Bad(
                    version < VERSION ? DamageKind.TOO_OLD : DamageKind.TOO_NEW,
                    "manifest version " + version + ", flags " + flags);
        }
        try {
            return readLists(in, unpackedEntries.get());
        } catch (BufferUnderflowException e) {
            return new Read.Bad(DamageKind.CORRUPT, "the lengths in the manifest do not add up");
        }
    }

    /** Decodes the lists. They grow as elements are read, so that a wrong count takes no memory. */
    private static Read readLists(ByteBuffer in, UnpackedEntries unpackedEntries) {
        long number = in.getLong();
        List<PackInfo> packs = new ArrayList<>();
        long entries = 0;
        for (int left = count(in); left > 0; left--) {
            PackInfo pack = PackInfo.readFrom(in);
            if (!pack.isPlausible()) {
                return new Read.Bad(
                        DamageKind.CORRUPT,
                        "the lengths of pack " + pack.name() + " do not add up");
            }
            entries += pack.entries();
            if (entries > MAX_ENTRIES) {
                return new Read.Bad(
                        DamageKind.TOO_LARGE, "packs of more than " + MAX_ENTRIES + " entries");
            }
            packs.add(pack);
        }
        List<Retired> retired = new ArrayList<>();
        for (int left = count(in); left > 0; left--) {
            byte[] name = new byte[Sha256.BYTES];
            in.get(name);
            retired.add(new Retired(Sha256.ofDigest(name), in.getLong()));
        }
        return in.hasRemaining() || number < 0
                ? new Read.Bad(DamageKind.CORRUPT, "the lengths in the manifest do not add up")
                : new Read.Ok(new PackManifest(number, unpackedEntries, packs, retired));
    }

    /** Reads the number of elements of a list. */
    private static int count(ByteBuffer in) {
        int count = in.getInt();
        if (count < 0) {
            throw new BufferUnderflowException();
        }
        return count;
    }
}
