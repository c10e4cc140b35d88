package dev.granary.local;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What the local tier's directory holds, counted file by file.
 *
 * @param entries how many entries there are, sound or not
 * @param entryBytes their length together
 * @param reclaimableBytes bytes that hold no entry any more and that maintenance gives back
 * @param overheadBytes bytes that the tier needs beside its entries
 * @param foreign files under the tier's directories that are not its own, at most {@value #NAMED} of them; they are never touched
 */
public record Survey(long entries, long entryBytes, long reclaimableBytes, long overheadBytes, List<Path> foreign) {
    /** How many foreign files are named. */
    public static final int NAMED = 100;

    /** Copies the list. */
    public Survey {
        foreign = List.copyOf(foreign);
    }

    /** Counts what lies there; temporary files that were last written before {@code staleMillis} are dead writers'. */
    static Survey of(Layout layout, long staleMillis) throws IOException {
        Counter counter = new Counter(layout, staleMillis);
        layout.walk(found -> {
            if (counter.known.add(found.file())) {
                counter.entryBytes += found.bytes();
            }
        });
        if (Files.exists(layout.root())) {
            Files.walkFileTree(layout.root(), counter);
        }
        counter.foreign.sort(null);
        return new Survey(counter.known.size(), counter.entryBytes, counter.reclaimableBytes, counter.overheadBytes, counter.foreign);
    }

    private static final class Counter extends SimpleFileVisitor<Path> {
        private final Layout layout;
        private final long staleMillis;
        private final Set<Path> known = new HashSet<>();
        private final List<Path> foreign = new ArrayList<>();
        private long entryBytes;
        private long reclaimableBytes;
        private long overheadBytes;

        Counter(Layout layout, long staleMillis) {
            this.layout = layout;
            this.staleMillis = staleMillis;
        }

        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (known.contains(file)) {
                return FileVisitResult.CONTINUE;
            }
            if (file.equals(layout.ledger())) {
                overheadBytes += attributes.size();
            } else if (layout.temporary().equals(file.getParent()) && file.toString().endsWith(Layout.TEMPORARY)) {
                if (attributes.lastModifiedTime().toMillis() < staleMillis) {
                    reclaimableBytes += attributes.size();
                } else {
                    overheadBytes += attributes.size();
                }
            } else if (foreign.size() < NAMED) {
                foreign.add(file);
            }
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFileFailed(Path file, IOException cause) throws IOException {
            if (cause instanceof NoSuchFileException) {
                return FileVisitResult.CONTINUE; // gone meanwhile
            }
            throw cause;
        }
    }
}
