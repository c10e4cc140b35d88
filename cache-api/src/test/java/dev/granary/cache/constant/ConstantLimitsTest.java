package dev.granary.cache.constant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.granary.cache.constant.ConstantTensorCache.Limit;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Tests of parsing limits. */
class ConstantLimitsTest {
    private static final Limit CPU = new Limit(10240, ConstantPolicy.NO_EVICT);
    private static final Limit GPU = new Limit(2048, ConstantPolicy.NO_EVICT);

    private final List<String> mistakes = new ArrayList<>();

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cpu:10240;gpu:2048",
                "gpu:2048;cpu:10240",
                " CPU : 10240 ; Gpu:2048 ;",
                "cpu:10240:NO_EVICT;gpu:2048:no_evict",
                ";;cpu:10240;;gpu:2048;;"
            })
    @DisplayName("kinds and sizes, in any order and case, with or without a policy")
    void parsed(String text) {
        assertEquals(
                new ConstantLimits(Map.of(EngineKind.CPU, CPU, EngineKind.GPU, GPU)),
                ConstantLimits.parse(text, mistakes::add));
        assertEquals(List.of(), mistakes);
    }

    @Test
    @DisplayName("a policy is the third part; a missing kind has no limit")
    void policy() {
        assertEquals(
                Map.of(EngineKind.CPU, new Limit(10240, ConstantPolicy.COST)),
                ConstantLimits.parse("cpu:10240:COST", mistakes::add).chosen());
        assertEquals(
                Map.of(EngineKind.GPU, new Limit(0, ConstantPolicy.LRU)),
                ConstantLimits.parse("gpu:0:lru", mistakes::add).chosen());
        assertEquals(ConstantLimits.NONE, ConstantLimits.parse("  ", mistakes::add));
        assertEquals(List.of(), mistakes);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cpu",
                "cpu:",
                "cpu:-1",
                "cpu:ten",
                "cpu:1.5",
                "cpu:10GB",
                "cpu:99999999999999999999",
                "npu:1",
                "cpu:1:FIFO",
                "cpu:1:",
                ":1",
                "cpu:1:LRU:x",
                "cpu=1",
                "10240"
            })
    @DisplayName("an invalid part is reported as it was written")
    void invalidPart(String text) {
        assertEquals(ConstantLimits.NONE, ConstantLimits.parse(text, mistakes::add));
        assertEquals(List.of(text), mistakes);
    }

    @Test
    @DisplayName(
            "in a partly valid text, the valid parts apply and all invalid ones are" + " reported")
    void partlyValid() {
        ConstantLimits valid = new ConstantLimits(Map.of(EngineKind.CPU, CPU));
        assertEquals(valid, ConstantLimits.parse("cpu:10240; tpu:5 ;gpu:much", mistakes::add));
        assertEquals(List.of("tpu:5", "gpu:much"), mistakes);
        mistakes.clear();
        assertEquals(
                valid, ConstantLimits.parse("cpu:10240;cpu:1", mistakes::add), "the first of two");
        assertEquals(List.of("cpu:1"), mistakes);
    }

    @Test
    @DisplayName("the limit of each kind is that of the first source with one")
    void orElse() {
        ConstantLimits cpu = new ConstantLimits(Map.of(EngineKind.CPU, CPU));
        ConstantLimits both = new ConstantLimits(Map.of(EngineKind.CPU, GPU, EngineKind.GPU, GPU));
        assertEquals(
                new ConstantLimits(Map.of(EngineKind.CPU, CPU, EngineKind.GPU, GPU)),
                cpu.orElse(both));
        assertEquals(both, both.orElse(cpu));
        assertEquals(both, ConstantLimits.NONE.orElse(both));
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "1, 1048576",
        "10240, 10737418240",
        "8796093022207, 9223372036853727232",
        "8796093022208, 9223372036854775807",
        "9223372036854775807, 9223372036854775807"
    })
    @DisplayName("a MB is 1,048,576 bytes; a budget beyond a long of bytes is unlimited")
    void bytes(long megabytes, long bytes) {
        assertEquals(bytes, new Limit(megabytes, ConstantPolicy.LRU).bytes());
    }

    @Test
    @DisplayName("a negative capacity is rejected, with the valid range in the message")
    void negative() {
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class, () -> new Limit(-1, ConstantPolicy.LRU));
        assertEquals(
                "The capacity of the constant tensor cache must be 0 MB or more, not -1",
                refused.getMessage());
    }
}
