package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BuildOptionsTest {
    @Test
    @DisplayName("K5 options are tokens: blanks separate, quotes group, a value may stand apart")
    void tokens() {
        assertEquals(List.of("-DX=1", "-cl-mad-enable"), BuildOptions.parse(" -D X=1\t-cl-mad-enable\n"));
        assertEquals(List.of("-DX=a b", "-DY=c d", "-DZ=e f"), BuildOptions.parse("-DX=\"a b\" '-DY=c d' -D 'Z=e f'"));
        assertEquals(List.of("-Idir", "-UA", "-includefile.h"), BuildOptions.parse("-I dir -U A -include file.h"));
        assertEquals(List.of("-DS='"), BuildOptions.parse("-DS=\"'\""));
        assertEquals(List.of(), BuildOptions.parse(" "));
        assertEquals(List.of("-DP=a\\b"), BuildOptions.parse("-DP=a\\b"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-DX", "-DX=1 -DY=2", "-DX=\"a b\"", "-I\"a dir\"", "-cl-std=CL1.2 -Werror"})
    @DisplayName("What is formatted parses to the same tokens, in the spelling that drivers take")
    void roundTrip(String options) {
        assertEquals(options, BuildOptions.format(BuildOptions.parse(options)));
    }

    @Test
    @DisplayName("An open quote and a missing value stop at once, and the message says which")
    void refused() {
        assertTrue(message("-DX=\"a").contains("quote is not closed"));
        assertTrue(message("-DX -I").contains("-I needs a value"));
    }

    private static String message(String options) {
        return String.valueOf(assertThrows(IllegalArgumentException.class, () -> BuildOptions.parse(options)).getMessage());
    }
}
