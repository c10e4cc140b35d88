package dev.granary.gpu.composite;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.KernelEngine;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The scratchpad of one handle: one buffer for the outermost primitive and all that are nested in it, handed down in parts. Not thread-safe. */
final class Scratchpad implements AutoCloseable {
    private final @Nullable DeviceBuffer whole; // none where none is needed
    private final Map<ScratchpadLayout.Part, DeviceBuffer> parts = new HashMap<>();

    Scratchpad(KernelEngine<?> engine, long bytes) {
        whole = bytes == 0 ? null : engine.buffer(bytes);
    }

    /** The part at that place of the whole scratchpad; made at its first use. */
    DeviceBuffer part(ScratchpadLayout.Part place) {
        DeviceBuffer buffer = whole;
        if (buffer == null) {
            throw new IllegalStateException("There is no scratchpad");
        }
        return parts.computeIfAbsent(place, part -> buffer.slice(part.offset(), part.bytes()));
    }

    @Override
    public void close() {
        List<Closer.Closeable> all = new ArrayList<>();
        parts.values().forEach(part -> all.add(part::close));
        parts.clear();
        if (whole != null) {
            all.add(whole::close);
        }
        Closer.all(all);
    }
}
