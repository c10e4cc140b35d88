package dev.granary.plans.picture;

import dev.granary.plans.KernelPlan;
import dev.granary.plans.PlanReport.CacheReport;
import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The drawing of the arrays of a plan with the active blocks of their caches, in the second
 * iteration of each loop, or the first of two. Of an array with more than two dimensions it shows
 * the last two.
 */
final class ArrayDrawing {
    private static final int SMALLEST = 24;
    private static final int VARYING = 136; // pixels of the larger dimension beyond the smallest
    private static final int THINNEST = 3;
    private static final int GAP = 48;
    private static final int HEADER = 22;

    private final SvgWriter out;
    private final KernelPlan plan;
    private final List<CacheReport> caches;
    private final Map<LoopIndex, Long> values = new HashMap<>();

    ArrayDrawing(SvgWriter out, KernelPlan plan) {
        this.out = out;
        this.plan = plan;
        this.caches = plan.report().caches();
        for (ScheduledLoop loop : plan.schedule().loops()) {
            // not at an edge, and with a next iteration
            values.put(loop.index(), loop.count() > 2 ? (long) loop.step() : 0L);
        }
    }

    /**
     * The plane of an array that is drawn.
     *
     * @param rows the elements from top to bottom
     * @param columns the elements from left to right
     */
    private record Plane(int rows, int columns) {
        static Plane of(List<Integer> sizes) {
            return new Plane(sizes.size() == 1 ? 1 : sizes.get(sizes.size() - 2), sizes.getLast());
        }

        int width() {
            return pixels(columns);
        }

        int height() {
            return pixels(rows);
        }

        private int pixels(int elements) {
            return SMALLEST + (int) ((long) VARYING * elements / Math.max(rows, columns));
        }
    }

    /** Draws the arrays side by side, and returns the coordinate below them. */
    int draw(int left, int top, int right) {
        int x = left;
        int y = top;
        int below = top;
        for (KernelArray array : plan.arguments()) {
            Plane plane = Plane.of(array.shape());
            String label = label(array);
            int width = Math.max(plane.width(), SvgWriter.width(label));
            if (x > left && x + width > right) {
                x = left;
                y = below + GAP / 2;
            }
            out.text(x, y + HEADER - 8, label, -1);
            out.rectangle("array", x, y + HEADER, plane.width(), plane.height());
            for (int i = 0; i < caches.size(); i++) {
                if (caches.get(i).array().equals(array.name())) {
                    blocks(caches.get(i), i, plane, x, y + HEADER);
                }
            }
            x += width + GAP;
            below = Math.max(below, y + HEADER + plane.height());
        }
        return below;
    }

    private static String label(KernelArray array) {
        return array.name() + " " + PlanPicture.sizes(array.shape()) + " " + array.type();
    }

    private void blocks(CacheReport cache, int colour, Plane plane, int x, int y) {
        rectangle(cache, values, colour, plane, x, y, !cache.isElided());
        LoopIndex next = cache.bufferedLoop();
        if (next != null) {
            ScheduledLoop loop = plan.schedule().loop(next);
            Map<LoopIndex, Long> later = new HashMap<>(values);
            later.merge(next, (long) loop.step(), Long::sum);
            if (Objects.requireNonNull(later.get(next)) <= loop.last()) {
                rectangle(cache, later, colour, plane, x, y, false);
            }
        }
    }

    private void rectangle(
            CacheReport cache,
            Map<LoopIndex, Long> at,
            int colour,
            Plane plane,
            int x,
            int y,
            boolean isFilled) {
        Plane block = Plane.of(cache.block());
        List<AffineIndex> origin = cache.origin();
        long column = value(origin.getLast(), at);
        long row = origin.size() == 1 ? 0 : value(origin.get(origin.size() - 2), at);
        int fromX = scaled(column, plane.columns(), plane.width());
        int toX = scaled(column + block.columns(), plane.columns(), plane.width());
        int fromY = scaled(row, plane.rows(), plane.height());
        int toY = scaled(row + block.rows(), plane.rows(), plane.height());
        int width = Math.max(THINNEST, toX - fromX);
        int height = Math.max(THINNEST, toY - fromY);
        out.block(x + fromX, y + fromY, width, height, colour, isFilled);
    }

    private static long value(AffineIndex sum, Map<LoopIndex, Long> at) {
        long value = sum.constant();
        for (Map.Entry<LoopIndex, Long> term : sum.terms().entrySet()) {
            value += term.getValue() * Objects.requireNonNull(at.get(term.getKey()));
        }
        return value;
    }

    /** Returns the pixel of an element; beyond the array that of its edge. */
    private static int scaled(long element, int elements, int pixels) {
        return (int) (Math.clamp(element, 0, (long) elements) * pixels / elements);
    }
}
