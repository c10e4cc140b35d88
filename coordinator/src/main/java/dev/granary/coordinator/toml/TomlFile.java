package dev.granary.coordinator.toml;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.tomlj.Toml;
import org.tomlj.TomlParseError;
import org.tomlj.TomlParseResult;

/**
 * Reads a TOML file. Every way in which a text is not TOML ends in a {@link TomlException} with line and column, also where the parser throws something
 * else than it documents.
 */
public final class TomlFile {
    /** The longest file that is read, in bytes. */
    static final int MAX_BYTES = 4 << 20;

    /** The parser recurses at each bracket; no file that a person writes nests deeper. */
    static final int MAX_NESTING = 100;

    private TomlFile() {}

    /**
     * The content of {@code file}.
     *
     * @throws IOException if the file cannot be read; a {@link java.nio.charset.CharacterCodingException} if it is not UTF-8
     * @throws TomlException if it is not TOML
     */
    public static TomlParseResult read(Path file) throws IOException, TomlException {
        byte[] bytes;
        try (var in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MAX_BYTES + 1);
        }
        if (bytes.length > MAX_BYTES) {
            throw new TomlException(1, 1, "the file has more than " + (MAX_BYTES >> 20) + " MiB");
        }
        return parse(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
    }

    /** The content of {@code text}; see {@link #read}. */
    static TomlParseResult parse(String text) throws TomlException {
        new Nesting(text).check();
        TomlParseResult result;
        try {
            result = Toml.parse(text);
        } catch (TomlParseError e) {
            throw new TomlException(e.position().line(), e.position().column(), harmless(String.valueOf(e.getMessage())));
        } catch (RuntimeException | AssertionError | StackOverflowError e) {
            throw new TomlException(lineThatFails(text), 1, "a value that cannot be read");
        }
        if (result.hasErrors()) {
            TomlParseError first = result.errors().getFirst();
            throw new TomlException(first.position().line(), first.position().column(), harmless(String.valueOf(first.getMessage())));
        }
        return result;
    }

    /** A text of the file as messages may show it: without user information, in one line, and short. */
    public static String harmless(String text) {
        return SafeText.inOneLine(withoutCredentials(text));
    }

    /** Without user and password, which stand between a scheme and an @. By hand: a regular expression would begin anew at each slash of a long run. */
    private static String withoutCredentials(String text) {
        int slashes = text.indexOf("//");
        int at = text.lastIndexOf('@');
        return slashes >= 0 && at >= slashes + 2 ? text.substring(0, slashes) + "//...@" + text.substring(at + 1) : text;
    }

    /** The last line of the shortest beginning of {@code text}, in lines, at which the parser fails; found by halving. */
    private static int lineThatFails(String text) {
        int[] ends = text.chars().filter(c -> c == '\n').count() == 0 ? new int[] {text.length()} : lineEnds(text);
        int low = 0;
        int high = ends.length - 1;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (fails(text.substring(0, ends[middle]))) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low + 1;
    }

    private static int[] lineEnds(String text) {
        return java.util.stream.IntStream.rangeClosed(1, text.length())
                .filter(end -> end == text.length() || text.charAt(end - 1) == '\n').toArray();
    }

    private static boolean fails(String text) {
        try {
            Toml.parse(text);
            return false;
        } catch (RuntimeException | AssertionError | StackOverflowError e) {
            return true;
        }
    }

    /** Finds brackets outside of strings and comments that are nested too deeply. */
    private static final class Nesting {
        private final String text;
        private int at;
        private int line = 1;
        private int lineStart;
        private int depth;

        Nesting(String text) {
            this.text = text;
        }

        void check() throws TomlException {
            while (at < text.length()) {
                char c = text.charAt(at);
                switch (c) {
                    case '#' -> {
                        int end = text.indexOf('\n', at);
                        at = end < 0 ? text.length() : end;
                    }
                    case '"', '\'' -> string(c);
                    case '[', '{' -> {
                        depth++;
                        if (depth > MAX_NESTING) {
                            throw new TomlException(line, at - lineStart + 1, "brackets are nested more than " + MAX_NESTING + " deep");
                        }
                        at++;
                    }
                    case ']', '}' -> {
                        depth = Math.max(0, depth - 1);
                        at++;
                    }
                    default -> pass();
                }
            }
        }

        private void string(char quote) {
            String three = String.valueOf(quote).repeat(3);
            boolean isLong = text.startsWith(three, at);
            at += isLong ? 3 : 1;
            while (at < text.length()) {
                if (isLong ? text.startsWith(three, at) : text.charAt(at) == quote || text.charAt(at) == '\n') {
                    at += isLong ? 3 : text.charAt(at) == '\n' ? 0 : 1;
                    return;
                }
                if (quote == '"' && text.charAt(at) == '\\' && at + 1 < text.length()) {
                    pass();
                }
                pass();
            }
        }

        private void pass() {
            if (text.charAt(at++) == '\n') {
                line++;
                lineStart = at;
            }
        }
    }
}
