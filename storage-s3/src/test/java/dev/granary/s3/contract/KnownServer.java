package dev.granary.s3.contract;

import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/** A server whose deviations are known, by measurement. */
public enum KnownServer {
    /** One that nobody described: it is expected to do as Amazon S3 does. */
    OTHER,
    /** MinIO. */
    MINIO,
    /** The embedded server, S3Proxy 4.1. */
    EMBEDDED(Deviation.KEY_BELOW_KEY_REFUSED),
    /** Ceph's object gateway 16.2. */
    CEPH(Deviation.CONDITIONAL_DELETE_IGNORED, Deviation.QUOTED_ETAG_NEVER_MATCHES, Deviation.ABSENT_IS_PRECONDITION,
            Deviation.SDK_FRAMING_REFUSED, Deviation.WRONG_CHECKSUM_ACCEPTED),
    /** OpenStack Swift 2.30 with s3api. */
    SWIFT(Deviation.CONDITIONAL_PUT_REFUSED, Deviation.SDK_FRAMING_REFUSED, Deviation.WRONG_CHECKSUM_ACCEPTED);

    private final Set<Deviation> deviations;

    KnownServer(Deviation... deviations) {
        this.deviations = EnumSet.noneOf(Deviation.class);
        this.deviations.addAll(Set.of(deviations));
    }

    /** What it is known to do otherwise. */
    public Set<Deviation> deviations() {
        return Set.copyOf(deviations);
    }

    /** The name of its script, and its value of {@code GRANARY_TEST_S3_SERVER}. */
    public String id() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The server of that name; an empty one is {@link #OTHER}.
     *
     * @throws IllegalArgumentException if there is none, with those that there are
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
        throw new IllegalArgumentException("GRANARY_TEST_S3_SERVER is \"" + id + "\": write one of " + Set.of(values()) + " in small letters");
    }
}
