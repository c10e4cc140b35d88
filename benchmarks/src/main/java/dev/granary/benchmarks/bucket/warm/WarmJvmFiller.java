package dev.granary.benchmarks.bucket.warm;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.LineProcess;
import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.benchmarks.bucket.workload.BucketFiller;
import dev.granary.benchmarks.bucket.workload.BucketWorkload;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Filler that warms in a JVM that has warmed before. */
final class WarmJvmFiller implements DirectoryFiller, AutoCloseable {
    /** The number of runs before the measured ones. */
    static final int UNMEASURED = 2;

    private final LineProcess process;
    private final BucketWorkload material;
    private final boolean isTrusting;

    /** Creates a filler that checks the signatures of entries or not. */
    WarmJvmFiller(
            BucketWorkspace workplace,
            ServerRoute route,
            BucketWorkload material,
            boolean isTrusting)
            throws IOException {
        this.material = material;
        this.isTrusting = isTrusting;
        this.process = LineProcess.start(
                workplace,
                BucketWorkspace.java(
                        List.of(),
                        WarmingProcess.class,
                        route.told().get("GRANARY_BUCKET") + "/" + BucketFiller.PACKED,
                        route.endpoint().toString(),
                        material.namespace(),
                        WarmCommandFiller.capacityMebibytes(material) + "MiB",
                        isTrusting ? material.publicKey() : ""),
                WarmCommandFiller.environment(workplace, route));
    }

    @Override
    public String label() {
        return isTrusting ? "warm, signatures checked" : "warm, running JVM";
    }

    @Override
    public double fill(Path directory) throws IOException {
        String[] answer = process.ask(directory.toString()).split(" ");
        if (Integer.parseInt(answer[1]) != material.count()) {
            throw new IOException(
                    "Of " + material.count() + " entries, " + answer[1] + " were installed");
        }
        return Long.parseLong(answer[0]) / 1e9;
    }

    @Override
    public void close() throws IOException {
        process.close();
    }
}
