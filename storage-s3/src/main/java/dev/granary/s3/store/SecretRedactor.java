package dev.granary.s3.store;

import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Removes secrets from messages: known credentials of this process, and anything that looks like a
 * key or a token. A server may echo parts of a request. Thread-safe.
 */
public final class SecretRedactor {
    private static final int MAX_SECRETS = 16;
    private static final int MIN_LENGTH = 8;
    private static final String REDACTED = "[hidden]";
    private static final Pattern USER_INFO = Pattern.compile("(?<=//)[^/?#\\s]*@");
    private static final Pattern QUERY =
            Pattern.compile("(?<=[?&])([A-Za-z0-9._~-]{1,64})=[^&\\s\"'<>)]+");

    /**
     * A long run of letters and digits, matched possessively: backtracking would take quadratic
     * time.
     */
    private static final Pattern RUN = Pattern.compile("[A-Za-z0-9+/=_%-]{32,}+");

    private static final Deque<String> KNOWN = new ArrayDeque<>(); // guarded by itself

    private SecretRedactor() {}

    /**
     * Registers a secret that requests are signed with; the last 16 are kept, since credentials are
     * renewed.
     */
    public static void register(@Nullable String secret) {
        if (secret == null || secret.length() < MIN_LENGTH) {
            return;
        }
        synchronized (KNOWN) {
            if (!KNOWN.contains(secret)) {
                KNOWN.addFirst(secret);
                if (KNOWN.size() > MAX_SECRETS) {
                    KNOWN.removeLast();
                }
            }
        }
    }

    /** Returns the text without secrets, user information, and values of query parameters. */
    public static String redact(String text) {
        String redacted = text;
        synchronized (KNOWN) {
            for (String secret : KNOWN) {
                redacted = redacted.replace(secret, REDACTED);
            }
        }
        redacted = USER_INFO.matcher(redacted).replaceAll("");
        redacted = QUERY.matcher(redacted).replaceAll("$1=" + REDACTED);
        return withoutTokens(redacted);
    }

    /**
     * Redacts long runs with digits and letters of both cases, as in secret keys and session
     * tokens; names of entries have one case, host names have dots.
     */
    static String withoutTokens(CharSequence text) {
        return RUN.matcher(text)
                .replaceAll(run ->
                        isToken(run.group()) ? REDACTED : Matcher.quoteReplacement(run.group()));
    }

    private static boolean isToken(String run) {
        return run.chars().anyMatch(c -> c >= 'a' && c <= 'z')
                && run.chars().anyMatch(c -> c >= 'A' && c <= 'Z')
                && run.chars().anyMatch(c -> c >= '0' && c <= '9');
    }
}
