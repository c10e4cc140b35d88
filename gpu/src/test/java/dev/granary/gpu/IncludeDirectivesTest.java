package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IncludeDirectivesTest {
    private static List<String> names(String source) {
        return List.copyOf(IncludeDirectives.of(source).names());
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "#include \"x\"", "#include <x>", "  #  include\t\"x\"", "#include\"x\"", "%:include \"x\"", "#/* c */include/**/\"x\"",
        "/* c\n */ #include \"x\"", "#inc\\\nlude \"x\"", "#include \\\n \"x\"", "#include_next <x>", "#import \"x\"", "#embed \"x\"",
        "#if 0\n#include \"x\"\n#endif", "#if __has_include(\"x\")\n#endif", "#if defined A && __has_include ( <x>)\n#endif",
        "// see /* there\n#include \"x\"\n/* end */", "printf(\"/*\");\n#include \"x\"\nprintf(\"*/\");", "char c = '\"';\n#include \"x\"",
        "#error don't\n#include \"x\"\n// isn't", "char* s = \"\\\"/*\";\n#include \"x\"\n/* */"})
    @DisplayName("K7 a directive is found in every spelling, in skipped branches, and behind what only looks like a comment")
    void found(String source) {
        assertEquals(List.of("x"), names(source));
        assertFalse(IncludeDirectives.of(source).hasComputed());
    }

    @ParameterizedTest
    @ValueSource(strings = {"// #include \"x\"", "/* \n#include \"x\"\n */", "/* a */ // b \\\n#include \"x\"", "int include;",
        "#define include 1", "printf(\"#include <x>\");", "#includes \"x\"", "/* never closed\n#include \"x\""})
    @DisplayName("What is in a comment or in a literal is no directive")
    void notFound(String source) {
        assertEquals(new IncludeDirectives(java.util.Set.of(), false), IncludeDirectives.of(source));
    }

    @ParameterizedTest
    @ValueSource(strings = {"#include NAME", "# include /* x.h */ NAME(x)", "#if __has_include(NAME)", "??=include \"x\"", "a ??/\n"})
    @DisplayName("K7 a name that a macro makes, and a text that cannot be read, are known to be there")
    void computed(String source) {
        assertTrue(IncludeDirectives.of(source).hasComputed());
    }

    @Test
    @DisplayName("Names come in order of appearance, each once")
    void order() {
        assertEquals(List.of("z", "a/b", "../c"), names("#include <z>\n#include \"a/b\"\n#include \"z\"\n#include \"../c\""));
    }
}
