package dev.granary.gpu;

import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The text of a C source as the preprocessor's directives see it: lines joined where they end in a backslash, comments gone, the names of
 * included files read before comments are. One pass, linear in the length of the source.
 *
 * <p>Skipped branches are read as well. Where a preprocessor reads a line differently in a skipped branch than in a taken one, or compilers differ,
 * {@link #unclear()} says so.
 */
final class PreprocessedText {
    private static final Pattern LINE_SPLICE = Pattern.compile("\\\\[ \\t\\f\\x0B]*\n");
    private static final Set<String> DIRECTIVES = Set.of("include", "include_next", "import", "embed", "__include_macros");
    private static final Set<String> QUESTIONS = Set.of("__has_include", "__has_include_next", "__has_embed");

    /** Behind these words the name of a question asks for nothing. */
    private static final Set<String> NAMING = Set.of("defined", "ifdef", "ifndef", "elifdef", "elifndef", "define", "undef");

    private static final Set<String> RAW_STRINGS = Set.of("R", "LR", "uR", "UR", "u8R");

    /** Blanks beyond ASCII that clang passes over with a warning, as it does with NUL, and the byte order mark. */
    private static final String UNICODE_BLANKS = "\u0085\u00a0\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
            + "\u2028\u2029\u202f\u205f\u3000\ufeff";

    private final String text;
    private final StringBuilder out;
    private final Set<String> names = new LinkedHashSet<>();
    private boolean hasComputed;
    private String unclear = "";
    private int at;
    private boolean isLineStart = true;
    private String word = ""; // the last one, as long as nothing but a bracket came behind it

    // No closing bracket stands before this index: a line of many open names is searched once.
    // A quote needs no such index: behind a search for a quote that failed, the line has no quote.
    private int noAngleBefore;
    private long searched;

    private PreprocessedText(String text) {
        this.text = text;
        this.out = new StringBuilder(text.length());
    }

    /** Reads {@code source}, whatever its line endings. */
    static PreprocessedText of(String source) {
        PreprocessedText scan = new PreprocessedText(LINE_SPLICE.matcher(KernelDescriptor.normalized(source)).replaceAll(""));
        if (source.contains("??=") || source.contains("??/")) {
            scan.unclear = "a trigraph of a hash or of a backslash, which compilers read differently";
        }
        while (scan.at < scan.text.length()) {
            scan.step();
        }
        return scan;
    }

    /**
     * The text with each comment replaced by a space. Quotes inside comments and comment marks inside literals have no meaning; a literal
     * ends with its line at the latest, so that an apostrophe in a skipped branch hides nothing.
     */
    String withoutComments() {
        return out.toString();
    }

    /** The names between quotes or angle brackets, in order of appearance. */
    Set<String> names() {
        return names;
    }

    /** True where a macro makes a name. */
    boolean hasComputed() {
        return hasComputed;
    }

    /** A part of the text, in words, that cannot be read for sure. */
    Optional<String> unclear() {
        return unclear.isEmpty() ? Optional.empty() : Optional.of(unclear);
    }

    /** How many characters the searches for the end of a name looked at; at most a few for each character of the text. */
    long searched() {
        return searched;
    }

    private void step() {
        char c = text.charAt(at);
        if (c == '\n') {
            isLineStart = true;
            word = "";
            copy(1);
        } else if (isBlank(c)) {
            copy(1);
        } else if (!skipComment()) {
            int hash = !isLineStart ? 0 : c == '#' ? 1 : text.startsWith("%:", at) ? 2 : 0;
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

    /** What follows a hash. */
    private void directive() {
        skipBlanks();
        String name = readWord();
        word = name;
        if (DIRECTIVES.contains(name)) {
            skipBlanks();
            name();
        } else if (name.equals("warning") || (name.equals("pragma") && text.startsWith("mark", endOfBlanks()))) {
            String line = text.substring(at, endOf("\n", at, 0));
            if (line.lastIndexOf("/*") > line.lastIndexOf("*/")) {
                unclear = "a comment that begins behind #" + name + ", which is none where the line is not skipped";
            }
        }
    }

    private void word() {
        String before = word;
        boolean isNumber = Character.isDigit(text.charAt(at));
        String read = readWord();
        word = read;
        char next = at < text.length() ? text.charAt(at) : '\n';
        if (isNumber && next == '\'') {
            unclear = "an apostrophe inside a number, which only some languages know";
        } else if (next == '"' && RAW_STRINGS.contains(read)) {
            unclear = "a raw string, which only some languages know";
        } else if (QUESTIONS.contains(read)) {
            question(before);
        }
    }

    private void question(String before) {
        skipBlanks();
        if (text.startsWith("(", at)) {
            copy(1);
            skipBlanks();
            name();
        } else if (!NAMING.contains(before)) {
            hasComputed = true;
        }
    }

    /** The name of a file, if one stands here. */
    private void name() {
        char open = at < text.length() ? text.charAt(at) : '\n';
        int end = switch (open) {
            case '"' -> inLine('"');
            case '<' -> inLine('>');
            default -> -1;
        };
        if (end <= at + 1) {
            hasComputed = true;
            return;
        }
        String name = text.substring(at + 1, end);
        if (name.indexOf('\0') >= 0) {
            unclear = "a NUL character in the name of an included file, at which some systems end the name";
        } else if (name.indexOf('\\') >= 0 || (open == '<' && (name.contains("/*") || name.indexOf('"') >= 0 || name.indexOf('\'') >= 0))) {
            unclear = "the included name " + name + ", which is read differently by compilers or in a skipped branch";
        }
        names.add(name);
        copy(end + 1 - at);
    }

    /** Where {@code mark} stands in this line, behind the current place; -1 where it does not. */
    private int inLine(char mark) {
        int from = mark == '>' ? Math.max(at + 1, noAngleBefore) : at + 1;
        int i = from;
        while (i < text.length() && text.charAt(i) != '\n' && text.charAt(i) != mark) {
            i++;
        }
        searched += i - from + 1L;
        if (i < text.length() && text.charAt(i) == mark) {
            return i;
        }
        if (mark == '>') {
            noAngleBefore = i;
        }
        return -1;
    }

    private String readWord() {
        int start = at;
        while (at < text.length() && isWordPart(text.charAt(at))) {
            at++;
        }
        out.append(text, start, at);
        return text.substring(start, at);
    }

    private void skipBlanks() {
        while (at < text.length() && (isBlank(text.charAt(at)) || text.charAt(at) == '/')) {
            if (isBlank(text.charAt(at))) {
                copy(1);
            } else if (!skipComment()) {
                return;
            }
        }
    }

    private int endOfBlanks() {
        int end = at;
        while (end < text.length() && isBlank(text.charAt(end))) {
            end++;
        }
        return end;
    }

    private boolean skipComment() {
        if (text.startsWith("//", at)) {
            at = endOf("\n", at, 0);
        } else if (text.startsWith("/*", at)) {
            at = endOf("*/", at + 2, 2);
        } else {
            return false;
        }
        out.append(' ');
        return true;
    }

    /** Copies a literal, its delimiters included. */
    private void literal(char quote) {
        int start = at++;
        while (at < text.length() && text.charAt(at) != '\n') {
            char c = text.charAt(at++);
            if (c == quote) {
                break;
            }
            if (c == '\\' && at < text.length() && text.charAt(at) != '\n') {
                at++;
            }
        }
        out.append(text, start, at);
    }

    private void copy(int characters) {
        out.append(text, at, at + characters);
        at += characters;
    }

    private int endOf(String mark, int from, int length) {
        int found = text.indexOf(mark, from);
        return found < 0 ? text.length() : found + length;
    }

    private static boolean isBlank(char c) {
        return c == ' ' || c == '\t' || c == '\f' || c == '\013' || c == '\0' || UNICODE_BLANKS.indexOf(c) >= 0;
    }

    private static boolean isWordPart(char c) {
        return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    }
}
