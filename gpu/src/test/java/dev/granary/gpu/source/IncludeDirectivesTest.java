package dev.granary.gpu.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Tests of the scan for include directives. */
class IncludeDirectivesTest {
    private static List<String> names(String source) {
        return List.copyOf(PreprocessedText.of(source).names());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "#include \"x\"",
                "#include <x>",
                "  #  include\t\"x\"",
                "#include\"x\"",
                "%:include \"x\"",
                "#/* c */include/**/\"x\"",
                "/* c\n */ #include \"x\"",
                "#inc\\\nlude \"x\"",
                "#include \\\n \"x\"",
                "#include_next <x>",
                "#import \"x\"",
                "#embed \"x\"",
                "#if 0\n#include \"x\"\n#endif",
                "#if __has_include(\"x\")\n#endif",
                "#if defined A && __has_include ( <x>)\n#endif",
                "// see /* there\n#include \"x\"\n/* end */",
                "printf(\"/*\");\n#include \"x\"\nprintf(\"*/\");",
                "char c = '\"';\n#include \"x\"",
                "#error don't\n#include \"x\"\n// isn't",
                "#incl\\\r\nude \"x\"",
                "#incl\\\rude \"x\"",
                "#include \\ \f\n \"x\"",
                "#incl\\\u000b\nude \"x\"",
                "\ufeff#include \"x\"",
                "\u00a0#\u3000include\u2003<x>",
                "#if __has_include\f(\"x\")\n#endif",
                "#if __has_include/**/(\"x\")\n#endif",
                "#if __has_include( /* ( */ <x>)\n#endif",
                "#ifdef __has_include\n#if __has_include(<x>)\n#endif\n#endif",
                "#if defined(__has_include) && __has_include(\"x\")\n#endif",
                "#/*\n*/include <x>",
                "#\0include\0\"x\"",
                "\0#if __has_include\0(\"x\")",
                "#warning it's\n#include <x>",
                "char* s = \"\\\"/*\";\n#include \"x\"\n/* */"
            })
    @DisplayName("directives are found in any spelling, in skipped branches, and after text that"
            + " only resembles a comment")
    void found(String source) {
        assertEquals(List.of("x"), names(source));
        assertFalse(PreprocessedText.of(source).hasComputed());
        assertEquals(Optional.empty(), PreprocessedText.of(source).unclear());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "// #include \"x\"",
                "/* \n#include \"x\"\n */",
                "/* a */ // b \\\n#include \"x\"",
                "int include;",
                "#define include 1",
                "printf(\"#include <x>\");",
                "#includes \"x\"",
                "/* never closed\n#include \"x\""
            })
    @DisplayName("Directives in comments and literals are ignored")
    void notFound(String source) {
        PreprocessedText read = PreprocessedText.of(source);
        assertEquals(Set.of(), read.names());
        assertFalse(read.hasComputed());
        assertEquals(Optional.empty(), read.unclear());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "#include NAME",
                "# include /* x.h */ NAME(x)",
                "#if __has_include(NAME)",
                "#define HAS __has_include",
                "#include",
                "#include \"x",
                "#include <x",
                "#include \"\""
            })
    @DisplayName("a name made by a macro is reported as computed")
    void computed(String source) {
        assertTrue(PreprocessedText.of(source).hasComputed());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "??=include \"x\"",
                "a ??/\n",
                "#include \"x\0\"",
                "#include <a/*b>",
                "#include <a'b>",
                "#include \"a\\b\"",
                "#include \"a\\\"b\"",
                "R\"(\"/*)\"",
                "u8R\"(\")\"",
                "int a = 1'0;",
                "int a = 0x1'00 + \"'/*\";",
                "#warning see /* there\n#include \"x\"\n/* */",
                "#pragma mark - /*\n#include \"x\"\n/* */"
            })
    @DisplayName("a line that compilers, languages or branches read differently is unclear, with a"
            + " reason")
    void unclear(String source) {
        assertFalse(PreprocessedText.of(source).unclear().orElseThrow().isEmpty());
    }

    @Test
    @DisplayName("comment marks inside angle brackets belong to the name")
    void commentMarksInNames() {
        assertEquals(List.of("a//b", "c"), names("#include <a//b>\n#include \"c\""));
        assertEquals(
                List.of("a//b", "c//d"),
                names("#if __has_include(<a//b>) && __has_include(\"c//d\")\n#endif"));
    }

    @Test
    @DisplayName("on a line of many unclosed names, each character is searched only a few times")
    void longLine() {
        for (String part : List.of(
                "__has_include(<",
                "__has_include(\"",
                "__has_include(\"__has_include(<",
                "__has_include(\"__has_include(",
                "#include <",
                "\\ ",
                "'",
                "/*",
                "__has_include /",
                "defined(")) {
            for (String lines : List.of(part.repeat(3000), (part.repeat(1000) + "\n").repeat(3))) {
                PreprocessedText read = PreprocessedText.of(lines);
                assertTrue(read.names().size() <= 1, part);
                assertTrue(
                        read.searchedCharacters() <= 3L * lines.length(),
                        () -> part + ": " + read.searchedCharacters() + " of " + lines.length());
            }
        }
    }

    @Test
    @DisplayName("Names are unique and in order of appearance")
    void order() {
        assertEquals(
                List.of("z", "a/b", "../c"),
                names("#include <z>\n#include \"a/b\"\n#include \"z\"\n#include \"../c\""));
    }
}
