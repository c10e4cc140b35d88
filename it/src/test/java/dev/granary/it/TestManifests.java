package dev.granary.it;

import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Objects;

/** The kernel manifests of the tests. */
final class TestManifests {
    /** Number of kernels of {@link #manifest()}. */
    static final int COUNT = 2;

    private TestManifests() {}

    /**
     * Returns a manifest of real kernels: an include chain, options, several entry points, with and
     * without geometry.
     */
    static String manifest() {
        return resources().resolve("kernels.toml").toString();
    }

    /** Returns the directory of the sources. */
    static Path resources() {
        try {
            Path file = Path.of(
                    Objects.requireNonNull(TestManifests.class.getResource("/kernels/kernels.toml"))
                            .toURI());
            return Objects.requireNonNull(file.getParent());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
