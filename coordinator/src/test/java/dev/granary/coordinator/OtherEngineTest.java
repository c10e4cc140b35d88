package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;

/** Tests of programs that bring an engine of their own. */
class OtherEngineTest {
    @Test
    @DisplayName("lookups, stores and statistics work without LWJGL on the class path")
    void withoutLwjgl(@TempDir Path directory) throws Exception {
        List<String> lines = ChildJvm.of(OtherEngineProcess.class)
                .shortLived()
                .classPath(part -> !String.valueOf(part.getFileName()).startsWith("lwjgl"))
                .directory(directory)
                .run()
                .lines()
                .stream()
                .filter(line -> line.startsWith("source: "))
                .toList();
        assertEquals(List.of("source: COMPILED", "source: LOCAL"), lines);
    }
}
