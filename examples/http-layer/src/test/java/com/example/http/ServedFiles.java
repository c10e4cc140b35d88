package com.example.http;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** The files of a directory, as {@code granary copy} writes them. */
record ServedFiles(Path directory) {
    Path file(Entry entry) {
        String hash = entry.id().hash().hex();
        return directory.resolve("v3/" + entry.id().target().path() + "/" + hash.substring(0, 2)
                + "/" + hash + ".entry");
    }

    StoreResult store(Entry entry) {
        try {
            byte[] encoded = EntryFormat.encode(entry, Compression.NONE);
            Files.createDirectories(file(entry).getParent());
            Path written = Files.createTempFile(directory, "entry", "");
            Files.write(written, encoded);
            Files.move(written, file(entry), StandardCopyOption.ATOMIC_MOVE);
            return new StoreResult.Stored(encoded.length);
        } catch (IOException e) {
            return new StoreResult.Failed(e.toString());
        }
    }
}
