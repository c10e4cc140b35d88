package dev.granary.s3.contract;

/** Known deviation of a server from Amazon S3. A check that meets one asserts it. */
public enum Deviation {
    /** A PUT with a condition is refused and changes nothing. */
    CONDITIONAL_PUT_REFUSED("PUT with If-None-Match or If-Match is refused with 501"),
    /** A DELETE with a condition deletes any version. */
    CONDITIONAL_DELETE_IGNORED("DELETE ignores If-Match and deletes any version"),
    /** A condition with the quoted ETag, as the server itself sent it, never holds. */
    QUOTED_ETAG_NEVER_MATCHES("If-Match never holds with the ETag in quotes, only without"),
    /** A replacement of an absent object is a failed precondition. */
    ABSENT_IS_PRECONDITION("If-Match on an absent object is 412 instead of 404"),
    /** Chunked bodies with a trailing checksum, the default of the AWS SDK, are refused. */
    SDK_FRAMING_REFUSED("bodies in the AWS SDK's default framing are refused"),
    /** A wrong checksum of a body is not detected. */
    WRONG_CHECKSUM_ACCEPTED("a body is stored although it does not fit its x-amz-checksum header"),
    /** A key that continues another one after a slash cannot be used. */
    KEY_BELOW_KEY_REFUSED("keys a and a/b cannot both exist");

    private final String text;

    Deviation(String text) {
        this.text = text;
    }

    /** Returns the behaviour of the server, in words. */
    public String text() {
        return text;
    }
}
