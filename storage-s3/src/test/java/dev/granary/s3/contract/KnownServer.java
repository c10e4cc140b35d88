package dev.granary.s3.contract;

import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/** A server whose deviations are known, by measurement. */
public enum KnownServer {
    /** An unknown server: it is expected to behave like Amazon S3. */
    OTHER,
    /** MinIO. */
    MINIO,
    /** The embedded server, S3Proxy 4.1. */
    EMBEDDED(Deviation.KEY_BELOW_KEY_REFUSED),
    /** Ceph's object gateway 16.2. */
    CEPH(
            Deviation.CONDITIONAL_DELETE_IGNORED,
            Deviation.QUOTED_ETAG_NEVER_MATCHES,
            Deviation.ABSENT_IS_PRECONDITION,
            Deviation.SDK_FRAMING_REFUSED,
            Deviation.WRONG_CHECKSUM_ACCEPTED),
    /** OpenStack Swift 2.30 with s3api. */
    SWIFT(
            Deviation.CONDITIONAL_PUT_REFUSED,
            Deviation.SDK_FRAMING_REFUSED,
            Deviation.WRONG_CHECKSUM_ACCEPTED);

    private final Set<Deviation> deviations;

    KnownServer(Deviation... deviations) {
        this.deviations = EnumSet.noneOf(Deviation.class);
        this.deviations.addAll(Set.of(deviations));
    }

    /** Returns the known deviations. */
    public Set<Deviation> deviations() {
        return Set.copyOf(deviations);
    }

    /** Returns the name of its script, and its value of {@code GRANARY_TEST_S3_SERVER}. */
    public String id() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Returns the server of that name; {@link #OTHER} for an empty one.
     *
     * @throws IllegalArgumentException if there is none; the message lists the known ones
     */
    static KnownServer named(String id) {
        if (id.isEmpty()) {
            return OTHER;
        }
        for (KnownServer server : values()) {
            if (server.id().equals(id)) {
                return server;
            }
        }
        throw new IllegalArgumentException("GRANARY_TEST_S3_SERVER is \"" + id + "\": write one of "
                + Set.of(values()) + " in lower case");
    }
}
