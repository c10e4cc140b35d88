package dev.granary.coordinator.toml;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Sanitizer of configured text for messages: one line, short, and without possible secrets, such as
 * a password in an address or a key in the options of a bucket.
 */
public final class SafeText {
    private static final int MAX_CHARACTERS = 200;
    private static final String HIDDEN = "...";
    private static final Pattern BEFORE_USER = Pattern.compile("[A-Za-z0-9+.-]*:?//");
    private static final Pattern CONTROL = Pattern.compile("[\\p{Cc}\\u2028\\u2029]+");

    /**
     * The text from a question mark, a number sign or an equals sign to the next bucket of a list.
     * Each run of separators is scanned once.
     */
    private static final Pattern VALUE =
            Pattern.compile("([?#=]).*?(?=(?<![\\s,])[\\s,]++(?:s3|file)://|$)", Pattern.DOTALL);

    private SafeText() {}

    /**
     * Returns the text without user information (all before the last {@code @}) and without the
     * text after {@code ?}, {@code #} or {@code =}.
     */
    public static String of(String text) {
        return inOneLine(VALUE.matcher(withoutUser(text)).replaceAll("$1" + HIDDEN));
    }

    /** Returns a text of a file for messages: without user information, in one line, and short. */
    public static String ofFile(String text) {
        return inOneLine(withoutCredentials(text));
    }

    /** Returns the text in one line, and short; for texts without secrets. */
    public static String inOneLine(String text) {
        String plain = CONTROL.matcher(text).replaceAll(" ");
        return plain.length() <= MAX_CHARACTERS
                ? plain
                : plain.substring(0, MAX_CHARACTERS) + HIDDEN;
    }

    /**
     * Returns the text of an exception in one line. Its methods may be code of an application,
     * which throws another one.
     */
    public static String inOneLine(Throwable thrown) {
        try {
            return inOneLine(thrown.toString());
        } catch (Throwable e) {
            return thrown.getClass().getName();
        }
    }

    private static String withoutUser(String text) {
        int at = text.lastIndexOf('@');
        if (at < 0) {
            return text;
        }
        Matcher scheme = BEFORE_USER.matcher(text);
        String before = scheme.lookingAt() && scheme.end() <= at ? scheme.group() : "";
        int query = text.indexOf('?');
        // otherwise the question mark may be part of the password
        boolean isInQuery = query >= 0 && query < at;
        return before + HIDDEN + (isInQuery ? "" : text.substring(at));
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
