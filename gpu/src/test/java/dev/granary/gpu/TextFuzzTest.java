package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;
import dev.granary.gpu.source.PreprocessedText;
import dev.granary.gpu.source.SourceText;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Fuzz tests of build options and of the scan for includes, with mutated texts. */
class TextFuzzTest {
    private static List<byte[]> texts(String... texts) {
        return List.of(texts).stream().map(text -> text.getBytes(UTF_8)).toList();
    }

    @Test
    @DisplayName("Fuzz: options parse to tokens or are refused, and formatted tokens parse to"
            + " themselves")
    void options() {
        Fuzzer.run(FuzzTarget.of(
                        "options",
                        texts(
                                "-D X=1 -cl-mad-enable -I 'a dir' -DS='\"a b\"' -U A -include"
                                        + " \"x.h\"",
                                "-DX=\"a'b\" -I \"\""),
                        bytes -> {
                            List<String> tokens = BuildOptions.parse(new String(bytes, UTF_8));
                            assertEquals(tokens, BuildOptions.parse(BuildOptions.format(tokens)));
                            assertEquals(tokens, BuildOptions.joinValues(tokens));
                            BuildOptions.forDriver(tokens);
                        })
                .words(List.of(
                        "-D",
                        "-I",
                        "-U",
                        "-include",
                        "\"",
                        "'",
                        " ",
                        "=",
                        "\u3000",
                        "\\",
                        "''",
                        "\"\""))
                .throwing(IllegalArgumentException.class)
                .allocating(200));
    }

    @Test
    @DisplayName("Fuzz: includes of any text are found in linear memory, and removing comments adds"
            + " none")
    void includes() {
        Fuzzer.run(FuzzTarget.of(
                        "includes",
                        texts(
                                "#include \"a.h\"\n"
                                        + "#if __has_include(<b.h>)\n"
                                        + "# import <c//d> // x\n"
                                        + "/* \n"
                                        + "*/ %:include_next \"e\"\n"
                                        + "#endif\n",
                                "#define H \"x\"\n"
                                        + "#include H\n"
                                        + "int x = 'a'; char* s = \"\\\"/*\"; // it's\n"
                                        + "#warning /* \n"),
                        bytes -> {
                            String text = new String(bytes, UTF_8);
                            PreprocessedText read = PreprocessedText.of(text);
                            for (String name : read.names()) {
                                assertTrue(!name.isEmpty() && name.indexOf('\n') < 0, name);
                            }
                            if (read.unclear().isEmpty()
                                    && !read.hasComputed()
                                    && read.withoutComments().equals(SourceText.normalized(text))) {
                                PreprocessedText longer = PreprocessedText.of(text + "\n");
                                assertEquals(read.names(), longer.names());
                                assertEquals(read.unclear(), longer.unclear());
                                assertFalse(longer.hasComputed());
                            }
                            new UntrackedInputs(Path.of("/nowhere"))
                                    .reason(
                                            List.of(text),
                                            Map.of("a.h", text),
                                            List.of(),
                                            bytes.length % 2 == 0);
                        })
                .words(List.of(
                        "#include",
                        "#",
                        "%:",
                        "<",
                        ">",
                        "\"",
                        "'",
                        "/*",
                        "*/",
                        "//",
                        "\\\n",
                        "\\\r\n",
                        "\\ \f\n",
                        "__has_include",
                        "(",
                        ")",
                        "defined",
                        "??=",
                        "??/",
                        "R\"(",
                        "\0",
                        "1'0",
                        "\u00a0",
                        "\ufeff",
                        "\n",
                        "../",
                        "__TIME__"))
                .allocating(400));
    }
}
