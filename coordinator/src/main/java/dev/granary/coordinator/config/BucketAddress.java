package dev.granary.coordinator.config;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A place in object storage, written {@code s3://name/prefix}.
 *
 * @param bucket the bucket's name
 * @param prefix what the keys begin with, without slashes at its ends; may be empty
 */
public record BucketAddress(String bucket, String prefix) {
    private static final Pattern FORM = Pattern.compile("s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/([A-Za-z0-9._/-]*))?");

    /**
     * The address that {@code text} tells.
     *
     * @throws IllegalArgumentException if it has another form
     */
    public static BucketAddress parse(String text) {
        Matcher matcher = FORM.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("Not of the form s3://name/prefix: " + text);
        }
        String prefix = matcher.group(2) == null ? "" : matcher.group(2).replaceAll("^/+|/+$", "");
        if (prefix.contains("//") || prefix.matches("(.*/)?\\.\\.?(/.*)?")) {
            throw new IllegalArgumentException("A prefix with empty parts or dots: " + text);
        }
        return new BucketAddress(matcher.group(1), prefix);
    }

    @Override
    public String toString() {
        return "s3://" + bucket + (prefix.isEmpty() ? "" : "/" + prefix);
    }
}
