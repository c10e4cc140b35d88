package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Tests that the messages quoted in the documentation occur in the sources. */
class QuotedMessagesTest {
    private static final Path ROOT = root();

    /** The length from which a fragment is looked up; a shorter one would occur anywhere. */
    private static final int MIN_FRAGMENT = 10;

    /** The least number of quotes in the page, since a reader that finds no tables would pass. */
    private static final int MIN_TROUBLESHOOTING = 90;

    /** The least number of quotes in the page of the kernel manifest, for the same reason. */
    private static final int MIN_MANIFEST = 10;

    /** The parts of a quote that stand for something else: dots, capital letters and numbers. */
    private static final Pattern VARIABLE = Pattern.compile("\\.\\.\\.|\\b[A-Z_]+\\b|[0-9][0-9,]*");

    private static final Pattern QUOTE = Pattern.compile("`([^`]+)`");

    /** A text block, a string, a character, a comment, blanks or any other character. */
    private static final Pattern TOKEN = Pattern.compile("""
        "{3}(?<block>[^"\\\\]*+(?:(?:\\\\.|"(?!""))[^"\\\\]*+)*+)"{3}\
        |"(?<string>[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+)"\
        |'(?:[^'\\\\]|\\\\.[^']*)'|(?<skip>//[^\\n]*|/\\*.*?\\*/|\\s+)|(?<other>.)\
        """, Pattern.DOTALL);

    /** An escape of a character by its number, which {@link String#translateEscapes} refuses. */
    private static final Pattern NUMBERED =
            Pattern.compile("(?<!\\\\)((?:\\\\\\\\)*)\\\\u+[0-9a-fA-F]{4}");

    /** A message in a table of a page. */
    private record Quote(Path page, int line, String message) {
        @Override
        public String toString() {
            return ROOT.relativize(page) + ":" + line + ": `" + message + "`";
        }
    }

    private static Path root() {
        Path directory = Path.of("").toAbsolutePath();
        while (!Files.isRegularFile(directory.resolve("granary"))
                || !Files.isDirectory(directory.resolve("docs"))) {
            directory = directory.getParent();
            if (directory == null) {
                throw new IllegalStateException("This test runs in a source tree");
            }
        }
        return directory;
    }

    @Test
    @DisplayName("Messages in docs/troubleshooting.md are messages of the sources")
    void troubleshooting() throws IOException {
        assertQuoted(ROOT.resolve("docs/troubleshooting.md"), MIN_TROUBLESHOOTING);
    }

    @Test
    @DisplayName("Messages in docs/kernel-manifest.md are messages of the sources")
    void kernelManifest() throws IOException {
        assertQuoted(ROOT.resolve("docs/kernel-manifest.md"), MIN_MANIFEST);
    }

    @Test
    @DisplayName("Adjacent literals are one text, and comments and characters are none")
    void literals() {
        assertEquals(
                List.of("one two", "three \"4\"", "five\n"),
                literals("f(\"one\" // \"no\"\n"
                        + " + \" two\", 'x', '\"', \"three \\\"4\\\"\" + x + /* \"no\" */"
                        + " \"\"\"\n"
                        + "five\n"
                        + "\"\"\")"));
    }

    private static void assertQuoted(Path page, int least) throws IOException {
        String texts = String.join("\0", texts());
        List<Quote> quotes = quotes(page);
        List<String> wrong = new ArrayList<>();
        for (Quote quote : quotes) {
            for (String part : VARIABLE.split(quote.message(), -1)) {
                String fragment = part.strip();
                if (fragment.length() >= MIN_FRAGMENT && !texts.contains(fragment)) {
                    wrong.add(quote + " has '" + fragment + "'");
                }
            }
        }
        assertTrue(
                wrong.isEmpty(),
                () -> "No literal of the main sources contains these:\n"
                        + String.join("\n", wrong));
        assertTrue(
                quotes.size() >= least,
                () -> page + " has only " + quotes.size() + " quoted messages");
    }

    /** Returns the quotes in the first columns of all tables of messages or reasons. */
    private static List<Quote> quotes(Path page) throws IOException {
        List<Quote> quotes = new ArrayList<>();
        List<String> lines = Files.readAllLines(page);
        boolean isTableOfMessages = false;
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            if (!line.startsWith("|")) {
                isTableOfMessages = false;
            } else if (line.startsWith("| message") || line.startsWith("| reason")) {
                isTableOfMessages = true;
            } else if (isTableOfMessages) {
                Matcher quote = QUOTE.matcher(line.split("\\|", -1)[1]);
                while (quote.find()) {
                    quotes.add(new Quote(page, i + 1, quote.group(1)));
                }
            }
        }
        return quotes;
    }

    /** Returns the literals of the main sources without benchmarks, and the launcher's text. */
    private static List<String> texts() throws IOException {
        List<String> texts = new ArrayList<>();
        texts.add(Files.readString(ROOT.resolve("granary")).replaceAll("(?m)^ *#.*$", ""));
        try (Stream<Path> modules = Files.list(ROOT)) {
            List<Path> sources = modules.filter(module -> !module.endsWith("benchmarks"))
                    .map(module -> module.resolve("src/main/java"))
                    .filter(Files::isDirectory)
                    .toList();
            for (Path source : sources) {
                try (Stream<Path> files = Files.walk(source)) {
                    for (Path file : files.filter(file -> file.toString().endsWith(".java"))
                            .toList()) {
                        texts.addAll(literals(Files.readString(file)));
                    }
                }
            }
        }
        return texts;
    }

    /** Returns the string literals of a source; literals that a plus joins are one. */
    private static List<String> literals(String source) {
        List<String> literals = new ArrayList<>();
        boolean isAfterLiteral = false;
        boolean isAfterPlus = false;
        Matcher token = TOKEN.matcher(source);
        while (token.find()) {
            String block = token.group("block");
            String literal =
                    block == null ? token.group("string") : block.stripIndent().stripLeading();
            if (literal != null) {
                String text = NUMBERED.matcher(literal).replaceAll("$1?").translateEscapes();
                if (isAfterPlus) {
                    literals.add(literals.removeLast() + text);
                } else {
                    literals.add(text);
                }
                isAfterLiteral = true;
                isAfterPlus = false;
            } else if (token.group("skip") == null) {
                isAfterPlus = isAfterLiteral && "+".equals(token.group("other"));
                isAfterLiteral = false;
            }
        }
        return literals;
    }
}
