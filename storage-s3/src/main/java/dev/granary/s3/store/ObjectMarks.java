package dev.granary.s3.store;

/**
 * The user metadata of an object: the write attempt and the digest of the content. ASCII only,
 * since some servers accept nothing else.
 *
 * @param putId the id of the write attempt, as hexadecimal digits; empty if there is none
 * @param sha256 the SHA-256 of the content, as hexadecimal digits; empty if there is none
 */
public record ObjectMarks(String putId, String sha256) {
    /** Name of the put id in the user metadata. */
    public static final String PUT_ID = "granary-put-id";

    /** Name of the SHA-256 in the user metadata. */
    public static final String SHA256 = "granary-sha256";

    /** No marks. */
    public static final ObjectMarks NONE = new ObjectMarks("", "");

    /**
     * Checks the fields.
     *
     * @throws IllegalArgumentException if one has other characters than lower-case hexadecimal
     *     digits
     */
    public ObjectMarks {
        requireHex(putId);
        requireHex(sha256);
    }

    /** Creates marks from a server's response; values that are not hexadecimal count as absent. */
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
