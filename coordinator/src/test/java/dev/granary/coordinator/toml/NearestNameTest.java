package dev.granary.coordinator.toml;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;

/** Tests for {@link NearestName}. */
class NearestNameTest {
    @ParameterizedTest
    @CsvSource({
        "bukcet,bucket",
        "bucke,bucket",
        "bucketts,bucket",
        "capacty,capacity",
        "dri,dir",
        "bu,",
        "eviction-policy,",
        "x,"
    })
    @DisplayName("The nearest name is at most two letters away")
    void nearest(String mistyped, String name) {
        assertEquals(
                name == null ? "" : "; the nearest name is '" + name + "'",
                NearestName.hint(mistyped, List.of("bucket", "capacity", "dir", "eviction")));
    }
}
