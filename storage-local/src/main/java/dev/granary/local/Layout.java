package dev.granary.local;

import dev.granary.cache.Catalog;
import dev.granary.cache.Id;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * Where things lie in the directory: {@code v1/<backend>/<target>/e/<hh>/<sha256>} for entries, {@code v1/tmp} for files being written,
 * {@code v1/ledger} for the account of bytes. Whatever has another name is not ours.
 *
 * <p>An id whose SHA-256 is taken by another id gets the name with {@code .1} to {@code .3} behind it.
 */
final class Layout {
    /** How many ids with one hash live side by side. */
    static final int SLOTS = 4;

    /** What the name of a temporary file ends with. */
    static final String TEMPORARY = ".tmp";

    private static final String VERSION = "v1";
    private static final String ENTRIES = "e";
    private static final Pattern NAMESPACE = Pattern.compile("[a-z0-9-]+/[a-z0-9._-]*[a-z0-9]");
    private static final Pattern SHARD = Pattern.compile("[0-9a-f]{2}");
    private static final Pattern ENTRY = Pattern.compile("[0-9a-f]{64}(\\.[1-3])?");
    private static final int HASH_DIGITS = 2 * Sha256.BYTES;

    private final Path root;
    private final Function<Id, Sha256> naming;
    private final Map<Target, String> namespaces = new ConcurrentHashMap<>(); // a target's path costs more than a look-up

    /** An entry's file as a walk finds it. */
    record Found(Path file, String namespace, Sha256 hash, long bytes, long stampMillis) {
        Catalog.Listed listed() {
            return new Catalog.Listed(namespace, hash, bytes, stampMillis);
        }
    }

    Layout(Path directory, Function<Id, Sha256> naming) {
        this.root = directory.resolve(VERSION);
        this.naming = naming;
    }

    Path root() {
        return root;
    }

    Path ledger() {
        return root.resolve("ledger");
    }

    Path temporary() {
        return root.resolve("tmp");
    }

    Sha256 hash(Id id) {
        return naming.apply(id);
    }

    Path entry(Id id, int slot) {
        return entry(namespaces.computeIfAbsent(id.target(), Target::path), hash(id), slot);
    }

    Path entry(String namespace, Sha256 hash, int slot) {
        String hex = hash.hex();
        String name = slot == 0 ? hex : hex + "." + slot;
        return root.getFileSystem().getPath(root.toString(), namespace, ENTRIES, hex.substring(0, 2), name);
    }

    /** True where {@code namespace} has the form of {@link Target#path()}: two names that lead nowhere else. */
    static boolean isNamespace(String namespace) {
        return NAMESPACE.matcher(namespace).matches();
    }

    /** Hands over every entry's file; files that vanish meanwhile are left out. */
    void walk(Consumer<Found> visitor) throws IOException {
        each(root, backend -> each(backend, target -> {
            String namespace = backend.getFileName() + "/" + target.getFileName();
            if (isNamespace(namespace)) {
                each(target.resolve(ENTRIES), shard -> walkShard(namespace, shard, visitor));
            }
        }));
    }

    private static void walkShard(String namespace, Path shard, Consumer<Found> visitor) throws IOException {
        String digits = shard.getFileName().toString();
        if (!SHARD.matcher(digits).matches()) {
            return;
        }
        each(shard, file -> {
            String name = file.getFileName().toString();
            if (!name.startsWith(digits) || !ENTRY.matcher(name).matches()) {
                return;
            }
            try {
                BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
                if (attributes.isRegularFile()) {
                    Sha256 hash = Sha256.parse(name.substring(0, HASH_DIGITS));
                    visitor.accept(new Found(file, namespace, hash, attributes.size(), attributes.lastModifiedTime().toMillis()));
                }
            } catch (NoSuchFileException e) {
                return; // evicted or replaced meanwhile
            }
        });
    }

    @FunctionalInterface
    interface PathVisitor {
        void visit(Path path) throws IOException;
    }

    /** Visits what lies in {@code directory}; a missing directory, a file or a link holds nothing. */
    static void each(Path directory, PathVisitor visitor) throws IOException {
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try (DirectoryStream<Path> children = Files.newDirectoryStream(directory)) {
            for (Path child : children) {
                visitor.visit(child);
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            return; // gone meanwhile
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }
}
