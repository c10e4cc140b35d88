package dev.granary.cache.constant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.granary.cache.constant.FakeDeviceMemory.Piece;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Objects;

/** Tests of the ownership of one tensor. */
class ConstantTensorTest {
    private final FakeDeviceMemory memory = new FakeDeviceMemory();

    @Test
    @DisplayName("opening a tensor just after its last release returns null and does not revive it")
    void tooLate() {
        ConstantTensor<Piece> tensor = new ConstantTensor<>(memory.allocate("k", 1));
        tensor.share(1, false);
        ConstantHold<Piece> first = tensor.countedHold();
        ConstantHold<Piece> second = Objects.requireNonNull(tensor.open(), "in use");
        first.close();
        second.close();
        memory.assertAllFreed();
        assertNull(tensor.open());
        assertEquals(0, memory.freedTwice());
    }

    @Test
    @DisplayName("the cache is an owner: a cached tensor without users stays until it is removed")
    void cacheOwns() {
        ConstantTensor<Piece> tensor = new ConstantTensor<>(memory.allocate("k", 1));
        tensor.share(1, true);
        tensor.countedHold().close();
        assertEquals(1, memory.live());
        tensor.uncache();
        ConstantTensor.notifyAndRelease(List.of(tensor));
        memory.assertAllFreed();
    }
}
