package dev.granary.gpu.source;

import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The text of a C source after line splicing and comment removal, with the names of included files.
 * Names are read before comments are removed. The scan is one pass, linear in the length of the
 * source.
 *
 * <p>Recognized are {@code #include}, {@code #include_next}, {@code #import} and {@code #embed},
 * also with digraphs. The operators {@code __has_include}, {@code __has_include_next} and
 * {@code __has_embed} count as well, since their value depends on the same files. Of a name made by
 * a macro, only the existence is reported.
 *
 * <p>Skipped branches are read as well. {@link #unclear()} reports a line that compilers, or
 * skipped and taken branches, read differently.
 */
public final class PreprocessedText {
    private static final Pattern LINE_SPLICE = Pattern.compile("\\\\[ \\t\\f\\x0B]*\n");
    private static final Set<String> DIRECTIVES =
            Set.of("include", "include_next", "import", "embed", "__include_macros");
    private static final Set<String> HAS_OPERATORS =
            Set.of("__has_include", "__has_include_next", "__has_embed");

    /** After these words, the name of a has-include operator is only a name. */
    private static final Set<String> NAME_CONTEXTS =
            Set.of("defined", "ifdef", "ifndef", "elifdef", "elifndef", "define", "undef");

    private static final Set<String> RAW_STRINGS = Set.of("R", "LR", "uR", "UR", "u8R");

    /**
     * White space beyond ASCII, and the byte order mark, which clang skips with a warning, as it
     * does NUL.
     */
    private static final String UNICODE_WHITE_SPACE =
            "\u0085\u00a0\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
                    + "\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";

    private final String text;
    private final StringBuilder out;
    private final Set<String> names = new LinkedHashSet<>();
    private boolean hasComputed;
    private String unclear = "";
    private int position;
    private boolean isLineStart = true;
    private String word = ""; // the last word, while at most an opening parenthesis follows it

    // No closing angle bracket precedes this index: a line of many unclosed names is searched once.
    // Quotes need no such index: after a failed search for a quote, the line contains no quote.
    private int noAngleBefore;
    private long searchedCharacters;

    private PreprocessedText(String text) {
        this.text = text;
        this.out = new StringBuilder(text.length());
    }

    /** Scans {@code source}, with any line endings. */
    public static PreprocessedText of(String source) {
        PreprocessedText scan = new PreprocessedText(
                LINE_SPLICE.matcher(SourceText.normalized(source)).replaceAll(""));
        if (source.contains("??=") || source.contains("??/")) {
            scan.unclear =
                    "a trigraph of a hash or of a backslash, which compilers read differently";
        }
        while (scan.position < scan.text.length()) {
            scan.step();
        }
        return scan;
    }

    /**
     * Returns the text with each comment replaced by a space. Quotes inside comments and comment
     * marks inside literals have no meaning. A literal ends at the end of its line, so that an
     * apostrophe in a skipped branch hides nothing.
     */
    public String withoutComments() {
        return out.toString();
    }

    /** Returns the names between quotes or angle brackets, in order of appearance. */
    public Set<String> names() {
        return names;
    }

    /** Returns true if a macro makes a name. */
    public boolean hasComputed() {
        return hasComputed;
    }

    /** Returns a description of text that cannot be read reliably. */
    public Optional<String> unclear() {
        return unclear.isEmpty() ? Optional.empty() : Optional.of(unclear);
    }

    /**
     * Returns the number of characters that searches for the end of a name visited: at most a few
     * for each character of the text.
     */
    long searchedCharacters() {
        return searchedCharacters;
    }

    private void step() {
        char c = text.charAt(position);
        if (c == '\n') {
            isLineStart = true;
            word = "";
            copy(1);
        } else if (isWhiteSpace(c)) {
            copy(1);
        } else if (!skipComment()) {
            int hash = !isLineStart ? 0 : c == '#' ? 1 : text.startsWith("%:", position) ? 2 : 0;
            isLineStart = false;
            if (hash > 0) {
                copy(hash);
                directive();
            } else {
                token(c);
            }
        }
    }

    private void token(char c) {
        if (isWordPart(c)) {
            word();
        } else {
            if (c != '(') {
                word = "";
            }
            if (c == '"' || c == '\'') {
                literal(c);
            } else {
                copy(1);
            }
        }
    }

    /** Reads a directive after its hash. */
    private void directive() {
        skipWhiteSpace();
        String name = readWord();
        word = name;
        if (DIRECTIVES.contains(name)) {
            skipWhiteSpace();
            fileName();
        } else if (name.equals("warning")
                || (name.equals("pragma") && text.startsWith("mark", whiteSpaceEnd()))) {
            String line = text.substring(position, indexAfter("\n", position, 0));
            if (line.lastIndexOf("/*") > line.lastIndexOf("*/")) {
                unclear = "a comment that begins after #" + name
                        + ", which is no comment unless the line is skipped";
            }
        }
    }

    private void word() {
        String before = word;
        boolean isNumber = Character.isDigit(text.charAt(position));
        String read = readWord();
        word = read;
        char next = position < text.length() ? text.charAt(position) : '\n';
        if (isNumber && next == '\'') {
            unclear = "an apostrophe inside a number, which only some languages support";
        } else if (next == '"' && RAW_STRINGS.contains(read)) {
            unclear = "a raw string, which only some languages support";
        } else if (HAS_OPERATORS.contains(read)) {
            hasOperator(before);
        }
    }

    private void hasOperator(String before) {
        skipWhiteSpace();
        if (text.startsWith("(", position)) {
            copy(1);
            skipWhiteSpace();
            fileName();
        } else if (!NAME_CONTEXTS.contains(before)) {
            hasComputed = true;
        }
    }

    /** Reads the file name at the current position, if there is one. */
    private void fileName() {
        char open = position < text.length() ? text.charAt(position) : '\n';
        int end =
                switch (open) {
                    case '"' -> indexInLine('"');
                    case '<' -> indexInLine('>');
                    default -> -1;
                };
        if (end <= position + 1) {
            hasComputed = true;
            return;
        }
        String name = text.substring(position + 1, end);
        if (name.indexOf('\0') >= 0) {
            unclear = "a NUL character in the name of an included file, at which some systems end"
                    + " the name";
        } else if (name.indexOf('\\') >= 0
                || (open == '<'
                        && (name.contains("/*")
                                || name.indexOf('"') >= 0
                                || name.indexOf('\'') >= 0))) {
            unclear = "the included name " + name
                    + ", which is read differently by compilers or in a skipped branch";
        }
        names.add(name);
        copy(end + 1 - position);
    }

    /** Returns the index of {@code mark} in the rest of this line, or -1. */
    private int indexInLine(char mark) {
        int from = mark == '>' ? Math.max(position + 1, noAngleBefore) : position + 1;
        int i = from;
        while (i < text.length() && text.charAt(i) != '\n' && text.charAt(i) != mark) {
            i++;
        }
        searchedCharacters += i - from + 1L;
        if (i < text.length() && text.charAt(i) == mark) {
            return i;
        }
        if (mark == '>') {
            noAngleBefore = i;
        }
        return -1;
    }

    private String readWord() {
        int start = position;
        while (position < text.length() && isWordPart(text.charAt(position))) {
            position++;
        }
        out.append(text, start, position);
        return text.substring(start, position);
    }

    private void skipWhiteSpace() {
        while (position < text.length()
                && (isWhiteSpace(text.charAt(position)) || text.charAt(position) == '/')) {
            if (isWhiteSpace(text.charAt(position))) {
                copy(1);
            } else if (!skipComment()) {
                return;
            }
        }
    }

    private int whiteSpaceEnd() {
        int end = position;
        while (end < text.length() && isWhiteSpace(text.charAt(end))) {
            end++;
        }
        return end;
    }

    private boolean skipComment() {
        if (text.startsWith("//", position)) {
            position = indexAfter("\n", position, 0);
        } else if (text.startsWith("/*", position)) {
            position = indexAfter("*/", position + 2, 2);
        } else {
            return false;
        }
        out.append(' ');
        return true;
    }

    /** Copies a literal, its delimiters included. */
    private void literal(char quote) {
        int start = position++;
        while (position < text.length() && text.charAt(position) != '\n') {
            char c = text.charAt(position++);
            if (c == quote) {
                break;
            }
            if (c == '\\' && position < text.length() && text.charAt(position) != '\n') {
                position++;
            }
        }
        out.append(text, start, position);
    }

    private void copy(int characters) {
        out.append(text, position, position + characters);
        position += characters;
    }

    private int indexAfter(String mark, int from, int length) {
        int found = text.indexOf(mark, from);
        return found < 0 ? text.length() : found + length;
    }

    private static boolean isWhiteSpace(char c) {
        return c == ' '
                || c == '\t'
                || c == '\f'
                || c == '\013'
                || c == '\0'
                || UNICODE_WHITE_SPACE.indexOf(c) >= 0;
    }

    private static boolean isWordPart(char c) {
        return c == '_'
                || (c >= 'a' && c <= 'z')
                || (c >= 'A' && c <= 'Z')
                || (c >= '0' && c <= '9');
    }
}
