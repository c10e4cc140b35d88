package dev.granary.local;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** The segments that this process has mapped, each mapped when it is first needed. Thread-safe. */
final class Segments {
    private static final int NEAR = 256;

    private final Layout layout;
    private final Map<Integer, Segment> mapped = new ConcurrentHashMap<>();
    private final AtomicReferenceArray<@Nullable Segment> near = new AtomicReferenceArray<>(NEAR); // spares look-ups the map and its keys

    Segments(Layout layout) {
        this.layout = layout;
    }

    /**
     * The segment with that number.
     *
     * @throws java.nio.file.NoSuchFileException if it was removed
     * @throws IOException if it cannot be opened
     */
    Segment get(int number) throws IOException {
        Segment known = near.get(number % NEAR);
        return known != null && known.number() == number ? known : find(number);
    }

    private Segment find(int number) throws IOException {
        Segment segment = mapped.get(number);
        if (segment == null) {
            segment = Segment.open(layout.segment(number), number);
            Segment first = mapped.putIfAbsent(number, segment);
            segment = first == null ? segment : first;
        }
        near.set(number % NEAR, segment);
        return segment;
    }

    Segment create(int number, long length) throws IOException {
        Segment segment = Segment.create(layout.segment(number), number, length);
        mapped.put(number, segment);
        near.set(number % NEAR, segment);
        return segment;
    }

    /** Lets go of a segment, whose file may be gone; look-ups that use it go on with the mapping. */
    void drop(Segment segment) {
        near.compareAndSet(segment.number() % NEAR, segment, null);
        mapped.remove(segment.number(), segment);
        segment.close();
    }

    /** Lets go of the segment with that number, whose file is gone. */
    void forget(int number) {
        Segment segment = mapped.get(number);
        if (segment != null) {
            drop(segment);
        }
    }

    /** Lets go of all segments that were removed. */
    void dropGone() {
        for (Segment segment : mapped()) {
            if (segment.phase() == Segment.Phase.GONE) {
                drop(segment);
            }
        }
    }

    /** Lets go of all segments whose files are shorter than they were when they were mapped. */
    void dropCut() throws IOException {
        for (Segment segment : mapped()) {
            if (isCut(segment)) {
                drop(segment);
            }
        }
    }

    private static boolean isCut(Segment segment) throws IOException {
        try {
            return Files.size(segment.file()) < segment.length();
        } catch (NoSuchFileException e) {
            return false; // removed: its mapping has all that it had
        }
    }

    List<Segment> mapped() {
        return new ArrayList<>(mapped.values());
    }

    void close() {
        mapped().forEach(this::drop);
    }
}
