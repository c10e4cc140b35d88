package dev.granary.local.file;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** Pool of the segments that this process has mapped, each at its first use. Thread-safe. */
public final class SegmentPool {
    private static final int RECENT = 256;

    private final StoreLayout layout;
    private final Map<Integer, SegmentFile> mapped = new ConcurrentHashMap<>();
    // saves lookups the map and its boxed keys
    private final AtomicReferenceArray<@Nullable SegmentFile> recent =
            new AtomicReferenceArray<>(RECENT);

    SegmentPool(StoreLayout layout) {
        this.layout = layout;
    }

    /**
     * Returns the segment with this number.
     *
     * @throws java.nio.file.NoSuchFileException if it was removed
     * @throws IOException if it cannot be opened
     */
    public SegmentFile get(int number) throws IOException {
        SegmentFile cached = recent.get(number % RECENT);
        return cached != null && cached.number() == number ? cached : find(number);
    }

    private SegmentFile find(int number) throws IOException {
        SegmentFile segment = mapped.get(number);
        if (segment == null) {
            segment = SegmentFile.open(layout.segment(number), number);
            SegmentFile first = mapped.putIfAbsent(number, segment);
            segment = first == null ? segment : first;
        }
        recent.set(number % RECENT, segment);
        return segment;
    }

    public SegmentFile create(int number, long length) throws IOException {
        SegmentFile segment = SegmentFile.create(layout.segment(number), number, length);
        mapped.put(number, segment);
        recent.set(number % RECENT, segment);
        return segment;
    }

    /**
     * Closes a segment, whose file may be removed. Lookups that use it continue with the mapping.
     */
    public void drop(SegmentFile segment) {
        recent.compareAndSet(segment.number() % RECENT, segment, null);
        mapped.remove(segment.number(), segment);
        segment.close();
    }

    /** Closes the segment with this number after its file was removed. */
    public void forget(int number) {
        SegmentFile segment = mapped.get(number);
        if (segment != null) {
            drop(segment);
        }
    }

    /** Closes all segments that were removed. */
    public void dropGone() {
        for (SegmentFile segment : mapped()) {
            if (segment.phase() == SegmentFile.Phase.GONE) {
                drop(segment);
            }
        }
    }

    /** Closes all segments whose files are shorter than their mappings. */
    public void dropCut() throws IOException {
        for (SegmentFile segment : mapped()) {
            if (isCut(segment)) {
                drop(segment);
            }
        }
    }

    private static boolean isCut(SegmentFile segment) throws IOException {
        try {
            return Files.size(segment.file()) < segment.length();
        } catch (NoSuchFileException e) {
            return false; // removed: its mapping is still complete
        }
    }

    public List<SegmentFile> mapped() {
        return new ArrayList<>(mapped.values());
    }

    void close() {
        mapped().forEach(this::drop);
    }
}
