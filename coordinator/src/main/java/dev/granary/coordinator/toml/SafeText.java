package dev.granary.coordinator.toml;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Text that a person configured, as messages may show it: in one line, short, and without what may be a secret. Secrets come to the wrong places by mistake:
 * a password in an address, a key as an option of a bucket.
 */
public final class SafeText {
    private static final int SHOWN_CHARACTERS = 200;
    private static final String HIDDEN = "...";
    private static final Pattern BEFORE_USER = Pattern.compile("[A-Za-z0-9+.-]*:?//");
    private static final Pattern CONTROL = Pattern.compile("[\\p{Cc}\\u2028\\u2029]+");

    /** From a question mark, a number sign or an equals sign to the next bucket of a list. Each run of separators is looked at once. */
    private static final Pattern VALUE = Pattern.compile("([?#=]).*?(?=(?<![\\s,])[\\s,]++s3://|$)", Pattern.DOTALL);

    private SafeText() {}

    /** The text without user information (all before the last {@code @}) and without what follows {@code ?}, {@code #} or {@code =}. */
    public static String of(String text) {
        return inOneLine(VALUE.matcher(withoutUser(text)).replaceAll("$1" + HIDDEN));
    }

    /** In one line, and short; for texts in which nothing is secret. */
    static String inOneLine(String text) {
        String plain = CONTROL.matcher(text).replaceAll(" ");
        return plain.length() <= SHOWN_CHARACTERS ? plain : plain.substring(0, SHOWN_CHARACTERS) + HIDDEN;
    }

    private static String withoutUser(String text) {
        int at = text.lastIndexOf('@');
        if (at < 0) {
            return text;
        }
        Matcher scheme = BEFORE_USER.matcher(text);
        String before = scheme.lookingAt() && scheme.end() <= at ? scheme.group() : "";
        int query = text.indexOf('?');
        boolean isInQuery = query >= 0 && query < at; // or the password has a question mark: nobody can tell
        return before + HIDDEN + (isInQuery ? "" : text.substring(at));
    }
}
