package dev.granary.coordinator.toml;

import org.tomlj.Toml;
import org.tomlj.TomlParseError;
import org.tomlj.TomlParseResult;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Reader of TOML files. A text that is not TOML always ends in a {@link TomlException} with line
 * and column, even if the parser throws an undocumented exception.
 */
public final class TomlFile {
    /** The longest file that is read, in bytes. */
    public static final int MAX_BYTES = 4 << 20;

    private TomlFile() {}

    /**
     * Reads and parses {@code file}.
     *
     * @throws IOException if the file cannot be read; a
     *     {@link java.nio.charset.CharacterCodingException} if it is not UTF-8
     * @throws TomlException if it is not TOML
     */
    static TomlParseResult read(Path file) throws IOException, TomlException {
        byte[] bytes;
        try (var in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MAX_BYTES + 1);
        }
        if (bytes.length > MAX_BYTES) {
            throw TomlException.notToml(
                    1, 1, "the file has more than " + (MAX_BYTES >> 20) + " MiB");
        }
        return parse(StandardCharsets.UTF_8
                .newDecoder()
                .decode(ByteBuffer.wrap(bytes))
                .toString());
    }

    /** Parses {@code text} as {@link #read} does. */
    static TomlParseResult parse(String text) throws TomlException {
        TomlParseResult result;
        try {
            result = Toml.parse(text);
        } catch (TomlParseError e) {
            throw mistake(e);
        } catch (RuntimeException | AssertionError | StackOverflowError e) {
            throw TomlException.notToml(
                    firstFailingLine(text),
                    1,
                    "a value that cannot be read, or is nested too deep");
        }
        if (result.hasErrors()) {
            throw mistake(result.errors().getFirst());
        }
        return result;
    }

    private static TomlException mistake(TomlParseError error) {
        return TomlException.notToml(
                error.position().line(),
                error.position().column(),
                harmless(String.valueOf(error.getMessage())));
    }

    /**
     * Returns a text of the file for messages: without user information, in one line, and short.
     */
    public static String harmless(String text) {
        return SafeText.inOneLine(withoutCredentials(text));
    }

    /**
     * Removes user and password, which stand between a scheme and an @. A regular expression would
     * restart at each slash of a long run.
     */
    private static String withoutCredentials(String text) {
        int slashes = text.indexOf("//");
        int position = text.lastIndexOf('@');
        return slashes >= 0 && position >= slashes + 2
                ? text.substring(0, slashes) + "//...@" + text.substring(position + 1)
                : text;
    }

    /**
     * Returns the last line of the shortest prefix of {@code text}, in lines, for which the parser
     * fails; found by bisection.
     */
    private static int firstFailingLine(String text) {
        List<String> lines = List.of(text.split("(?<=\n)"));
        int low = 1;
        int high = lines.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (fails(String.join("", lines.subList(0, middle)))) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    private static boolean fails(String text) {
        try {
            Toml.parse(text);
            return false;
        } catch (RuntimeException | AssertionError | StackOverflowError e) {
            return true;
        }
    }
}
