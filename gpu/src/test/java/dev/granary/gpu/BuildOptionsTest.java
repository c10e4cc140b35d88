package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.SplittableRandom;

/** Tests of the parser of build options and of its inverse. */
class BuildOptionsTest {
    @Test
    @DisplayName("options are tokens: white space separates, quotes group, a value may be separate")
    void tokens() {
        assertEquals(
                List.of("-DX=1", "-cl-mad-enable"),
                BuildOptions.parse(" -D X=1\t-cl-mad-enable\n"));
        assertEquals(
                List.of("-DX=a b", "-DY=c d", "-DZ=e f"),
                BuildOptions.parse("-DX=\"a b\" '-DY=c d' -D 'Z=e f'"));
        assertEquals(
                List.of("-Idir", "-UA", "-includefile.h"),
                BuildOptions.parse("-I dir -U A -include file.h"));
        assertEquals(List.of("-DS='"), BuildOptions.parse("-DS=\"'\""));
        assertEquals(List.of(), BuildOptions.parse(" "));
        assertEquals(List.of("-DP=a\\b"), BuildOptions.parse("-DP=a\\b"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-DS='\"ab\"'",
                "-DS='\"a b\"'",
                "-DS=\"a'b c\"",
                "\"''\"",
                "'\"'",
                "\"a b c\"",
                "-D 'A B'",
                "-DX=a\u3000b",
                "\u3000",
                "'\"'\"'\"'\"'",
                "'=\"' \" =\"",
                "-DS=\"'\"'\"'\"'\"",
                "-U A -I'a \"b'",
                "\u001cX"
            })
    @DisplayName("format is the inverse of parse for any quotes and white space")
    void inverse(String options) {
        List<String> tokens = BuildOptions.parse(options);
        assertEquals(
                tokens,
                BuildOptions.parse(BuildOptions.format(tokens)),
                BuildOptions.format(tokens));
    }

    @Test
    @DisplayName("format is the inverse of parse for random options")
    void inverseOfRandomOptions() {
        SplittableRandom random = TestSeed.random(getClass().getName());
        String letters = "-DIUX=ab'\"\\ \t\u3000";
        for (int i = 0; i < 20_000; i++) {
            StringBuilder text = new StringBuilder();
            for (int length = random.nextInt(14); length > 0; length--) {
                text.append(letters.charAt(random.nextInt(letters.length())));
            }
            try {
                List<String> tokens = BuildOptions.parse(text.toString());
                assertEquals(
                        tokens, BuildOptions.parse(BuildOptions.format(tokens)), text.toString());
            } catch (IllegalArgumentException e) {
                assertTrue(String.valueOf(e.getMessage()).contains("option"), text.toString());
            }
        }
    }

    @Test
    @DisplayName("the driver's string has double quotes around white space and no others")
    void forDriver() {
        assertEquals(
                "-DX=1 -DY=\"a b\" -DS=\"ab\" -I\"a dir\"",
                BuildOptions.forDriver(
                        BuildOptions.parse("-DX=1 -DY='a b' -DS='\"ab\"' -I 'a dir'")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-U \"\" -DFOO", "-I \"\"", "-D ''", "\"\"", "-DX '' -DY"})
    @DisplayName("an empty option or value is refused with a reason")
    void empty(String options) {
        assertTrue(message(options).contains("is empty"), message(options));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "-DX",
                "-DX=1 -DY=2",
                "-DX=\"a b\"",
                "-I\"a dir\"",
                "-cl-std=CL1.2 -Werror"
            })
    @DisplayName("Formatted tokens parse to the same tokens, in the spelling of drivers")
    void roundTrip(String options) {
        assertEquals(options, BuildOptions.format(BuildOptions.parse(options)));
    }

    @Test
    @DisplayName("An open quote or a missing value is refused, with a message that names it")
    void refused() {
        assertTrue(message("-DX=\"a").contains("quote is not closed"));
        assertTrue(message("-DX -I").contains("-I needs a value"));
    }

    private static String message(String options) {
        return String.valueOf(
                assertThrows(IllegalArgumentException.class, () -> BuildOptions.parse(options))
                        .getMessage());
    }
}
