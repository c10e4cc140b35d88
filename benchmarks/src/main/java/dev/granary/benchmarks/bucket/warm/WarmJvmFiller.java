package dev.granary.benchmarks.bucket.warm;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.LineProcess;
import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.benchmarks.bucket.workload.BucketFiller;
import dev.granary.benchmarks.bucket.workload.BucketWorkload;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Filler that warms in a JVM that has warmed before. Fillers of both policies share one JVM: what
 * the compilers of two happened to do differed more than the policies.
 */
final class WarmJvmFiller implements DirectoryFiller {
    /** The number of runs before the measured ones. */
    static final int UNMEASURED = 2;

    private final LineProcess jvm;
    private final BucketWorkload material;
    private final boolean isTrusting;

    /** Creates a filler that checks the signatures of entries or not. */
    WarmJvmFiller(LineProcess jvm, BucketWorkload material, boolean isTrusting) {
        this.jvm = jvm;
        this.material = material;
        this.isTrusting = isTrusting;
    }

    /** Starts the JVM of fillers. */
    static LineProcess start(BucketWorkspace workplace, ServerRoute route, BucketWorkload material)
            throws IOException {
        return LineProcess.start(
                workplace,
                BucketWorkspace.java(
                        List.of(),
                        WarmingProcess.class,
                        route.told().get("GRANARY_BUCKET") + "/" + BucketFiller.PACKED,
                        route.endpoint().toString(),
                        material.namespace(),
                        WarmCommandFiller.capacityMebibytes(material) + "MiB",
                        material.publicKey()),
                WarmCommandFiller.environment(workplace, route));
    }

    @Override
    public String label() {
        return isTrusting ? "warm, signatures checked" : "warm, running JVM";
    }

    @Override
    public double fill(Path directory) throws IOException {
        String[] answer =
                jvm.ask((isTrusting ? "require " : "off ") + directory).split(" ");
        if (Integer.parseInt(answer[1]) != material.count()) {
            throw new IOException(
                    "Of " + material.count() + " entries, " + answer[1] + " were installed");
        }
        return Long.parseLong(answer[0]) / 1e9;
    }
}
