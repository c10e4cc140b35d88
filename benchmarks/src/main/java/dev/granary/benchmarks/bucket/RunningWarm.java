package dev.granary.benchmarks.bucket;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Warming in a JVM that has warmed before. */
final class RunningWarm implements Filler, AutoCloseable {
    /** So many times it warms before it is measured. */
    static final int UNMEASURED = 2;

    private final Conversation process;
    private final Material material;

    RunningWarm(Workplace workplace, Way way, Material material) throws IOException {
        this.material = material;
        this.process = Conversation.start(workplace, Workplace.java(List.of(), WarmingProcess.class,
                way.told().get("GRANARY_BUCKET") + "/" + Filling.PACKED, way.endpoint().toString(), material.namespace(),
                WarmCommand.capacityMebibytes(material) + "MiB"), WarmCommand.environment(workplace, way));
    }

    @Override
    public String label() {
        return "warm, running JVM";
    }

    @Override
    public double fill(Path directory) throws IOException {
        String[] answer = process.ask(directory.toString()).split(" ");
        if (Integer.parseInt(answer[1]) != material.count()) {
            throw new IOException("Of " + material.count() + " entries, " + answer[1] + " were installed");
        }
        return Long.parseLong(answer[0]) / 1e9;
    }

    @Override
    public void close() throws IOException {
        process.close();
    }
}
