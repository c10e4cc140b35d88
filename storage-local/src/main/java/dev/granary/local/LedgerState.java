package dev.granary.local;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * The account of the directory as its file holds it, big-endian: magic, used bytes, time of the last sweep, number of changes, condition,
 * CRC-32C over all of it.
 *
 * @param used bytes of all entries
 * @param sweptMillis when the entries were last counted, in milliseconds since 1970
 * @param changes how many changes were ever made
 * @param condition whether {@code used} can be believed
 */
record LedgerState(long used, long sweptMillis, long changes, Condition condition) {
    /** Length of the file in bytes. */
    static final int BYTES = 48;

    /** What stands for an account that is missing or damaged. */
    static final LedgerState UNKNOWN = new LedgerState(0, 0, 0, Condition.DOUBTFUL);

    private static final long MAGIC = 0x4752_414e_4c44_4731L; // GRANLDG1
    private static final int CHECKED = BYTES - Long.BYTES;

    /** Whether the number of used bytes can be believed. */
    enum Condition {
        /** It is right. */
        SOUND(0),
        /** A change is under way; where nobody holds the lock, its maker died in it. */
        CHANGING(1),
        /** A sweep must count again. */
        DOUBTFUL(2);

        private final long code;

        Condition(long code) {
            this.code = code;
        }
    }

    LedgerState with(Condition other) {
        return new LedgerState(used, sweptMillis, changes, other);
    }

    LedgerState plus(long bytes) {
        return bytes == 0 ? this : new LedgerState(Math.max(0, used + bytes), sweptMillis, changes, condition);
    }

    LedgerState changedBy(long bytes) {
        return new LedgerState(Math.max(0, used + bytes), sweptMillis, changes + 1, condition);
    }

    ByteBuffer encode() {
        ByteBuffer out = ByteBuffer.allocate(BYTES);
        out.putLong(MAGIC).putLong(used).putLong(sweptMillis).putLong(changes).putLong(condition.code);
        return out.putLong(checksum(out)).flip();
    }

    static Optional<LedgerState> decode(ByteBuffer in) {
        if (in.remaining() < BYTES || in.getLong(0) != MAGIC || in.getLong(CHECKED) != checksum(in)) {
            return Optional.empty();
        }
        long used = in.getLong(8);
        return Arrays.stream(Condition.values())
                .filter(condition -> condition.code == in.getLong(32) && used >= 0)
                .findFirst()
                .map(condition -> new LedgerState(used, in.getLong(16), in.getLong(24), condition));
    }

    private static long checksum(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.duplicate().position(0).limit(CHECKED));
        return crc.getValue();
    }
}
