package dev.granary.coordinator;

import dev.granary.coordinator.config.GranaryConfig;

import java.nio.file.Path;
import java.util.Map;

/**
 * A program without LWJGL: looks a primitive up for an engine of its own, and prints its source.
 */
final class OtherEngineProcess {
    private OtherEngineProcess() {}

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 2; i++) {
            try (Granary granary = Granary.open(GranaryConfig.builder()
                    .environment(Map.of("HOME", "/nonexistent"))
                    .directory(Path.of("local").toAbsolutePath())
                    .build())) {
                System.out.println("source: "
                        + granary.lookup(new FakeEngine("one"), FakeDescriptor.of("a"))
                                .source());
            }
        }
    }
}
