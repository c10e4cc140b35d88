package dev.granary.plans.picture;

import dev.granary.plans.KernelPlan;
import dev.granary.plans.PlanReport.CacheReport;

import java.util.List;
import java.util.stream.Collectors;

/**
 * A picture of a kernel plan in SVG: its loops with the places at which blocks are copied, its
 * arrays with the active blocks in an early iteration, and a legend. Equal plans have equal
 * pictures.
 */
public final class PlanPicture {
    private static final int MARGIN = 16;
    private static final int LINE = 20;
    private static final int WIDTH = 760;

    private PlanPicture() {}

    /** Returns the picture of a plan. */
    public static String svg(KernelPlan plan) {
        SvgWriter out = new SvgWriter();
        int y = new LoopDrawing(out, plan, MARGIN, MARGIN).draw() + LINE / 2;
        y = new ArrayDrawing(out, plan).draw(MARGIN, y, WIDTH - MARGIN) + LINE / 2;
        List<CacheReport> caches = plan.report().caches();
        for (int i = 0; i < caches.size(); i++) {
            y += LINE;
            out.block(MARGIN, y - 11, 12, 12, i, true);
            out.text(MARGIN + LINE, y, legend(caches.get(i)), i);
        }
        return out.picture(
                Math.max(WIDTH, out.right() + MARGIN),
                y + MARGIN,
                "Kernel plan " + plan.name() + ": " + plan.schedule().nest().logic());
    }

    private static String legend(CacheReport cache) {
        String block =
                "level " + cache.level() + ", " + sizes(cache.block()) + " of " + cache.array();
        if (cache.isElided()) {
            return cache.name() + ": " + block + ", used in place";
        }
        return cache.name() + ": " + block + ", " + cache.bytes() + " bytes of "
                + cache.location() + " memory"
                + (cache.triggerLevel() == cache.level()
                        ? ""
                        : ", filled at level " + cache.triggerLevel())
                + (cache.bufferedLoop() == null
                        ? ""
                        : "; dashed: the next " + cache.bufferedLoop());
    }

    /** Returns sizes such as {@code 16 x 8}. */
    static String sizes(List<Integer> sizes) {
        return sizes.stream().map(String::valueOf).collect(Collectors.joining(" x "));
    }
}
