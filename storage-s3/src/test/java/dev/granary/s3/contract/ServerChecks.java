package dev.granary.s3.contract;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestReporter;

import java.util.Objects;
import java.util.Set;

/**
 * Checks of a server that may deviate: each that meets a known deviation asserts it, and reports
 * it.
 */
abstract class ServerChecks {
    private @Nullable TestReporter reporter;

    /** Returns the known deviations of the server from Amazon S3; none by default. */
    protected Set<Deviation> deviations() {
        return Set.of();
    }

    @BeforeEach
    final void keep(TestReporter given) {
        reporter = given;
    }

    /** Returns true if the server has this deviation; the check must then assert it. */
    protected final boolean deviates(Deviation deviation) {
        if (!deviations().contains(deviation)) {
            return false;
        }
        Objects.requireNonNull(reporter)
                .publishEntry(Deviation.class.getSimpleName(), deviation.name());
        return true;
    }
}
