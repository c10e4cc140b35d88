package dev.granary.local;

import dev.granary.cache.Id;
import dev.granary.cache.support.PinStore;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Collection;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * Pins in a shared directory, as files {@code pin/<name>}. A file is written beside its place, with
 * a name that no pin has, and renamed. Nothing is synced: a power cut may damage a pin.
 */
final class SharedPins implements PinStore {
    private final Path root;

    /** Creates the pins in a directory, which need not exist. */
    SharedPins(Path directory) {
        this.root = directory.resolve("pin");
    }

    @Override
    public Optional<String> write(String name, Collection<Id> ids) {
        Path file = root.resolve(PinStore.requireName(name));
        Path written = root.resolve("." + UUID.randomUUID());
        try {
            Files.createDirectories(root);
            try {
                Files.write(written, Pin.encode(ids));
                Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(written);
            }
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of(e.toString());
        }
    }

    @Override
    public boolean remove(String name) throws IOException {
        return Files.deleteIfExists(root.resolve(PinStore.requireName(name)));
    }

    @Override
    public void read(Consumer<Pin> visitor) throws IOException {
        NavigableSet<Path> pins = new TreeSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(root)) {
            files.forEach(pins::add);
        } catch (NoSuchFileException e) {
            return;
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        for (Path file : pins) {
            String name = file.getFileName().toString();
            if (name.matches(NAME)) {
                BasicFileAttributes attributes = Files.readAttributes(
                        file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
                if (!attributes.isRegularFile() || attributes.size() > Pin.MAX_BYTES) {
                    throw Pin.damaged(name); // opening a pipe would wait for its writer
                }
                long written = attributes.lastModifiedTime().toMillis();
                visitor.accept(Pin.decode(name, written, Files.readAllBytes(file)));
            }
        }
    }
}
