package dev.granary.coordinator.toml;

import org.tomlj.Toml;
import org.tomlj.TomlParseError;
import org.tomlj.TomlParseResult;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reader of TOML files. A text that is not TOML always ends in a {@link TomlException}. */
public final class TomlFile {
    /** The longest file that is read, in bytes. */
    public static final int MAX_BYTES = 4 << 20;

    private TomlFile() {}

    /** Reads and parses a file as {@link TomlTable#read} does. */
    static TomlParseResult read(Path file) throws IOException, TomlException {
        byte[] bytes;
        try (var in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MAX_BYTES + 1);
        }
        if (bytes.length > MAX_BYTES) {
            throw notToml(file.toString(), "the file has more than " + (MAX_BYTES >> 20) + " MiB");
        }
        String text = StandardCharsets.UTF_8
                .newDecoder()
                .decode(ByteBuffer.wrap(bytes))
                .toString();
        TomlParseError mistake;
        try {
            TomlParseResult result = Toml.parse(text);
            if (!result.hasErrors()) {
                return result;
            }
            mistake = result.errors().getFirst();
        } catch (TomlParseError e) {
            mistake = e;
        } catch (RuntimeException | AssertionError | StackOverflowError e) {
            throw notToml(file.toString(), "a value cannot be read, or is nested too deep");
        }
        throw notToml(
                file + ":" + mistake.position().line() + ":"
                        + mistake.position().column(),
                harmless(String.valueOf(mistake.getMessage())));
    }

    private static TomlException notToml(String place, String cause) {
        return new TomlException(place + ": this is not TOML: " + cause + ".");
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
}
