package dev.granary.s3.contract;

import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestReporter;

/** Checks of a server that may deviate: each that meets a known deviation holds that one, and says so in the report of the tests. */
abstract class ServerChecks {
    private @Nullable TestReporter reporter;

    /** Where the server is known to do otherwise than Amazon S3; none by default. */
    protected Set<Deviation> deviations() {
        return Set.of();
    }

    @BeforeEach
    final void keep(TestReporter given) {
        reporter = given;
    }

    /** True where the server deviates so; the check must then assert just that. */
    protected final boolean deviates(Deviation deviation) {
        if (!deviations().contains(deviation)) {
            return false;
        }
        Objects.requireNonNull(reporter).publishEntry(Deviation.class.getSimpleName(), deviation.name());
        return true;
    }
}
