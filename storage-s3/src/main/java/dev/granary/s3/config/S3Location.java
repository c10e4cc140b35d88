package dev.granary.s3.config;

import dev.granary.s3.store.SecretRedactor;

import java.util.regex.Pattern;

/**
 * A bucket and a prefix of its keys, written {@code s3://bucket/prefix}.
 *
 * @param bucket the name: 3 to 63 lower-case letters, digits, dots and dashes
 * @param prefix path components separated by slashes, none at either end; empty for the whole
 *     bucket
 */
public record S3Location(String bucket, String prefix) {
    private static final String SCHEME = "s3://";
    private static final Pattern BUCKET = Pattern.compile("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]");
    private static final Pattern PREFIX =
            Pattern.compile("|[A-Za-z0-9._-]{1,200}(/[A-Za-z0-9._-]{1,200}){0,9}");

    /**
     * Checks both parts.
     *
     * @throws IllegalArgumentException if one is malformed; the message states the right form
     */
    public S3Location {
        if (!BUCKET.matcher(bucket).matches()) {
            throw new IllegalArgumentException("Not a bucket name: \"" + redacted(bucket)
                    + "\". A bucket has 3 to 63 lower-case letters, digits, dots and"
                    + " dashes, such as s3://kernels or s3://kernels/team-a");
        }
        if (!PREFIX.matcher(prefix).matches() || prefix.contains("..")) {
            throw new IllegalArgumentException("Not a prefix: \"" + redacted(prefix)
                    + "\". A prefix has letters, digits, dots, dashes and underscores,"
                    + " with single slashes between, such as team-a/kernels");
        }
    }

    /**
     * Parses {@code text}; one trailing slash is ignored.
     *
     * @throws IllegalArgumentException if it is not {@code s3://bucket} or
     *     {@code s3://bucket/prefix}; the message states the right form
     */
    public static S3Location parse(String text) {
        if (!text.startsWith(SCHEME)) {
            throw new IllegalArgumentException("Not a bucket: \"" + redacted(text)
                    + "\". Write s3://bucket or s3://bucket/prefix");
        }
        String rest = text.substring(SCHEME.length());
        int slash = rest.indexOf('/');
        if (slash < 0) {
            return new S3Location(rest, "");
        }
        String prefix = rest.substring(slash + 1);
        return new S3Location(
                rest.substring(0, slash),
                prefix.endsWith("/") ? prefix.substring(0, prefix.length() - 1) : prefix);
    }

    /** Returns the text without user information and query values: secrets get there by mistake. */
    private static String redacted(String wrong) {
        int at = wrong.lastIndexOf('@');
        return SecretRedactor.redact(at < 0 ? wrong : "..." + wrong.substring(at));
    }

    @Override
    public String toString() {
        return SCHEME + bucket + (prefix.isEmpty() ? "" : "/" + prefix);
    }
}
