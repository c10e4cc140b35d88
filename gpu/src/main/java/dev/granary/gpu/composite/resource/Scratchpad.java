package dev.granary.gpu.composite.resource;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.engine.Closer;

import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.Map;

/**
 * The scratchpad of one handle: one buffer, split into parts for the outermost primitive and its
 * nested ones. Not thread-safe.
 */
public final class Scratchpad implements AutoCloseable {
    private final @Nullable DeviceBuffer whole; // null if none is needed
    private final Map<ScratchpadLayout.Part, DeviceBuffer> parts = new HashMap<>();

    public Scratchpad(KernelEngine engine, long bytes) {
        whole = bytes == 0 ? null : engine.buffer(bytes);
    }

    /** Returns the part at that range of the whole scratchpad, sliced at its first use. */
    public DeviceBuffer part(ScratchpadLayout.Part range) {
        DeviceBuffer buffer = whole;
        if (buffer == null) {
            throw new IllegalStateException("The primitive has no scratchpad");
        }
        return parts.computeIfAbsent(range, part -> buffer.slice(part.offset(), part.bytes()));
    }

    @Override
    public void close() {
        try (Closer all = new Closer()) {
            if (whole != null) {
                all.add(whole::close);
            }
            parts.values().forEach(part -> all.add(part::close));
            parts.clear();
        }
    }
}
