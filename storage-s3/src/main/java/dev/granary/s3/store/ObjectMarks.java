package dev.granary.s3.store;

/**
 * The user metadata of an object: whose attempt wrote it, and what it holds. ASCII only, since not every server takes more.
 *
 * @param putId the mark of the attempt that wrote the object, as hexadecimal digits; empty where there is none
 * @param sha256 the SHA-256 of the content, as hexadecimal digits; empty where there is none
 */
public record ObjectMarks(String putId, String sha256) {
    /** The name of the put id in the user metadata. */
    public static final String PUT_ID = "granary-put-id";

    /** The name of the SHA-256 in the user metadata. */
    public static final String SHA256 = "granary-sha256";

    /** No marks. */
    public static final ObjectMarks NONE = new ObjectMarks("", "");

    /**
     * Checks the texts.
     *
     * @throws IllegalArgumentException if one holds anything but lower-case hexadecimal digits
     */
    public ObjectMarks {
        requireHex(putId);
        requireHex(sha256);
    }

    /** Marks as a server tells them: what is not hexadecimal counts as not there. */
    public static ObjectMarks ofStored(String putId, String sha256) {
        return new ObjectMarks(isHex(putId) ? putId : "", isHex(sha256) ? sha256 : "");
    }

    private static void requireHex(String text) {
        if (!isHex(text)) {
            throw new IllegalArgumentException("Not lower-case hexadecimal digits: " + text);
        }
    }

    private static boolean isHex(String text) {
        return text.chars().allMatch(c -> (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'));
    }
}
