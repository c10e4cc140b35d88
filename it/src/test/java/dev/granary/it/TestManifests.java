package dev.granary.it;

import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Objects;

/** The manifests of the tests. */
final class TestManifests {
    /** How many kernels {@link #manifest()} has. */
    static final int COUNT = 4;

    private TestManifests() {}

    /** A manifest of real kernels: an include chain, options, several entry points, with and without geometry. */
    static String manifest() {
        return resources().resolve("kernels.toml").toString();
    }

    /** The directory of the sources. */
    static Path resources() {
        try {
            Path file = Path.of(Objects.requireNonNull(TestManifests.class.getResource("/kernels/kernels.toml")).toURI());
            return Objects.requireNonNull(file.getParent());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
