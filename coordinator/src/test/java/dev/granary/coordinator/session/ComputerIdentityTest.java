package dev.granary.coordinator.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The numbers by which the reports of one computer are recognized. */
class ComputerIdentityTest {
    private static final String NUMBER = "[0-9a-f]{32}";

    @TempDir
    private Path directory = Path.of("");

    @Test
    @DisplayName("N7 a directory keeps its number, another one has another; both have one host")
    void numbers() throws Exception {
        ComputerIdentity first = ComputerIdentity.of(directory);
        assertEquals(first, ComputerIdentity.of(directory));
        ComputerIdentity other =
                ComputerIdentity.of(Files.createDirectory(directory.resolve("other")));
        assertNotEquals(first.directory(), other.directory());
        assertEquals(first.host(), other.host());
        assertTrue(first.directory().matches(NUMBER) && first.host().matches(NUMBER));
    }

    @Test
    @DisplayName("N7 many threads that make the number at once get the same, and leave no file")
    void atOnce() throws Exception {
        Set<ComputerIdentity> all = ConcurrentHashMap.newKeySet();
        IntStream.range(0, 32).parallel().forEach(_ -> {
            try {
                all.add(ComputerIdentity.of(directory));
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        assertEquals(1, all.size());
        try (Stream<Path> files = Files.list(directory)) {
            assertEquals(List.of(directory.resolve("machine")), files.toList());
        }
    }

    @Test
    @DisplayName("N7 damaged content still is one number; another object is a failure, and no read")
    void damaged() throws Exception {
        Path file = directory.resolve("machine");
        Files.write(file, new byte[] {0, (byte) 200, 7});
        ComputerIdentity damaged = ComputerIdentity.of(directory);
        assertTrue(damaged.directory().matches(NUMBER));
        assertEquals(damaged, ComputerIdentity.of(directory));
        Files.delete(file);
        Files.createDirectory(file);
        assertThrows(IOException.class, () -> ComputerIdentity.of(directory));
    }
}
