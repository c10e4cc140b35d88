package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.PinStore;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** Tests of the pins of a shared directory. */
@Timeout(60)
class SharedPinsTest {
    private final TestEntries entries = new TestEntries("SharedPinsTest");
    private final Path root;
    private final PinStore pins;

    SharedPinsTest(@TempDir Path directory) {
        this.root = directory.resolve("new/pin");
        this.pins = new SharedDirectory(directory.resolve("new"), true, TrustPolicy.OFF).pins();
    }

    private List<PinStore.Pin> read() throws IOException {
        List<PinStore.Pin> all = new ArrayList<>();
        pins.read(all::add);
        return all;
    }

    private void assertDamaged() {
        IOException failure = assertThrows(IOException.class, this::read);
        assertTrue(String.valueOf(failure.getMessage()).startsWith("pin p is damaged"));
    }

    private Id id() {
        return entries.entry(10).id();
    }

    @Test
    @DisplayName("Pins are written, replaced, read in the order of their names, and removed; files"
            + " with other names are none")
    void written() throws Exception {
        assertEquals(List.of(), read());
        assertFalse(pins.remove("b"));
        assertFalse(Files.exists(root));
        Id one = id();
        Id other = id();
        assertEquals(Optional.empty(), pins.write("b", List.of(one)));
        assertEquals(Optional.empty(), pins.write("a", List.of()));
        assertEquals(Optional.empty(), pins.write("b", List.of(one, other, other)));
        Files.writeString(root.resolve(".b"), "unfinished");
        assertEquals(List.of("a", "b"), read().stream().map(PinStore.Pin::name).toList());
        PinStore.Pin pin = read().getLast();
        assertEquals(2, pin.entries());
        assertEquals(
                Set.of(one.hash().prefix(), other.hash().prefix()),
                LongStream.of(pin.ids().get(one.target().path()))
                        .boxed()
                        .collect(Collectors.toSet()));
        assertEquals(Files.getLastModifiedTime(root.resolve("b")).toMillis(), pin.writtenMillis());
        assertTrue(pins.remove("b"));
        assertFalse(pins.remove("b"));
        assertEquals(1, read().size());
        assertThrows(IllegalArgumentException.class, () -> pins.write("../x", List.of()));
        assertThrows(IllegalArgumentException.class, () -> pins.remove("../x"));
    }

    @Test
    @DisplayName("A pin has the form of docs/bucket.md")
    void form() throws Exception {
        Id id = id();
        pins.write("p", List.of(id));
        String text = Files.readString(root.resolve("p"));
        String prefix = HexFormat.of().toHexDigits(id.hash().prefix());
        String line = id.target().path() + " " + prefix;
        assertTrue(text.matches("pin 1 [0-9a-f]{64}\\n" + line + "\\n"), text);
        assertTrue(id.hash().hex().startsWith(prefix), "the digits that ls shows");
    }

    @Test
    @DisplayName(
            "A pin that is damaged in any byte, cut, or no file ends the reading with its name")
    void damaged() throws Exception {
        pins.write("p", List.of(id()));
        Path file = root.resolve("p");
        byte[] sound = Files.readAllBytes(file);
        for (int i = 0; i < sound.length; i++) {
            byte[] changed = sound.clone();
            changed[i] ^= 1;
            Files.write(file, changed);
            assertDamaged();
        }
        for (String odd : List.of("", "x", new String(sound, UTF_8) + "\n")) {
            Files.writeString(file, odd);
            assertDamaged();
        }
        Files.delete(file);
        Files.createDirectory(file);
        assertDamaged();
        assertTrue(pins.remove("p"));
        Assumptions.assumeTrue(SystemTool.run("mkfifo", file.toString()), "no mkfifo");
        assertDamaged();
    }

    @Test
    @DisplayName("A pin that cannot be written, and a directory that is none, are failures")
    void unwritable() throws Exception {
        Files.createDirectories(root.getParent());
        Files.writeString(root, "in the way");
        assertTrue(pins.write("p", List.of(id())).isPresent());
        assertThrows(IOException.class, this::read);
    }
}
