package dev.granary.s3.store;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/** Option in the address of one bucket, such as {@code ?profile=vendor}. None is a secret. */
public enum ConnectionOption {
    /** The profile of the AWS configuration files that has the credentials. */
    PROFILE("[A-Za-z0-9_.@+/:-]{1,128}", "the name of a profile, such as profile=vendor"),
    /** Unsigned requests. */
    CREDENTIALS(
            "none",
            "credentials=none, for unsigned requests; secrets belong to a profile"
                    + " (profile=NAME) or to the environment"),
    /** The key with which the server encrypts what is written (SSE-KMS). */
    KMS("[A-Za-z0-9:/_-]{1,256}", "the id, ARN or alias of a key, such as kms=alias/kernels"),
    /** Amazon's endpoints of IPv4 and IPv6; by default as the AWS SDK is configured. */
    DUAL_STACK,
    /** Amazon's endpoints with FIPS 140 cryptography; by default as the AWS SDK is configured. */
    FIPS,
    /** The bucket in the path instead of the host name; by default with an endpoint only. */
    PATH_STYLE;

    private final Pattern values;
    private final String expected;

    ConnectionOption() {
        this.values = Pattern.compile("true|false");
        this.expected = this + "=true or " + this + "=false";
    }

    ConnectionOption(String values, String expected) {
        this.values = Pattern.compile(values);
        this.expected = expected;
    }

    /** Returns the option with a name in an address. */
    public static Optional<ConnectionOption> of(String name) {
        return Arrays.stream(values())
                .filter(each -> each.toString().equals(name))
                .findAny();
    }

    /** Returns true if the option may have this value. */
    public boolean accepts(String value) {
        return values.matcher(value).matches();
    }

    /** Returns a description of correct values, for messages. */
    public String expected() {
        return expected;
    }

    /** Returns the name in an address, such as {@code dual-stack}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
