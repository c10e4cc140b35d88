package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The account's bytes: read back as written, refused where any of them is damaged. */
final class LedgerStateTest {
    private final LedgerState state = new LedgerState(123_456_789_012L, 1_700_000_000_000L, 42, LedgerState.Condition.CHANGING);

    @Test
    @DisplayName("The account is read back as it was written")
    void roundTrip() {
        assertEquals(Optional.of(state), LedgerState.decode(state.encode()));
    }

    @Test
    @DisplayName("O6 a flipped bit in any byte, and any truncation, is no account")
    void damaged() {
        byte[] sound = state.encode().array();
        for (int i = 0; i < sound.length; i++) {
            byte[] bad = sound.clone();
            bad[i] ^= (byte) (1 << (i % 8));
            assertEquals(Optional.empty(), LedgerState.decode(ByteBuffer.wrap(bad)));
            assertEquals(Optional.empty(), LedgerState.decode(ByteBuffer.wrap(sound, 0, i)));
        }
    }
}
