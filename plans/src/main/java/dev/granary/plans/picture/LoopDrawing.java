package dev.granary.plans.picture;

import dev.granary.plans.KernelPlan;
import dev.granary.plans.PlanReport.CacheReport;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import java.util.List;
import java.util.stream.Collectors;

/**
 * The drawing of the loops of a plan, outermost first, with the places at which blocks are copied.
 * A bar beside the loops that use a copy has the colour of the cache.
 */
final class LoopDrawing {
    private static final int LINE = 20;
    private static final int INDENT = 14;
    private static final int BAR = 12;
    private static final int BAR_WIDTH = 6;

    private final SvgWriter out;
    private final KernelPlan plan;
    private final List<CacheReport> caches;
    private final List<ScheduledLoop> loops;
    private final int left;
    private int y;

    LoopDrawing(SvgWriter out, KernelPlan plan, int left, int top) {
        this.out = out;
        this.plan = plan;
        this.caches = plan.report().caches();
        this.loops = plan.schedule().loops();
        this.left = left;
        this.y = top;
    }

    /** Draws the loops, and returns the coordinate below them. */
    int draw() {
        String logic = plan.schedule().nest().logic().toString();
        int[] tops = new int[caches.size()];
        for (int position = 0; position <= loops.size(); position++) {
            copies(position);
            for (int i = 0; i < tops.length; i++) {
                if (loops.size() - caches.get(i).level() == position) {
                    tops[i] = y;
                }
            }
            boolean isLoop = position < loops.size();
            line(position, isLoop ? header(loops.get(position)) : logic, -1);
            if (isLoop) {
                fetches(position);
            }
        }
        for (int i = 0; i < tops.length; i++) {
            boolean isFilled = !caches.get(i).isElided();
            out.block(left + i * BAR, tops[i], BAR_WIDTH, y - tops[i], i, isFilled);
        }
        return y;
    }

    private String header(ScheduledLoop loop) {
        String axis = plan.bindings().entrySet().stream()
                .filter(bound -> bound.getValue().equals(loop.index()))
                .map(bound -> bound.getKey() + "  ")
                .collect(Collectors.joining());
        return (axis.isEmpty() ? "for  " : axis) + loop;
    }

    /** Draws the copies before a loop. */
    private void copies(int position) {
        for (int i = 0; i < caches.size(); i++) {
            CacheReport cache = caches.get(i);
            int place = cache.bufferedLoop() == null
                    ? loops.size() - cache.triggerLevel()
                    : position(cache);
            if (place == position && !cache.isElided()) {
                line(
                        position,
                        "\u25b6 fill " + cache.name() + ": " + PlanPicture.sizes(cache.block()),
                        i);
            }
        }
    }

    /** Draws the fetches of the next blocks at the start of a loop. */
    private void fetches(int position) {
        for (int i = 0; i < caches.size(); i++) {
            CacheReport cache = caches.get(i);
            if (cache.bufferedLoop() != null && position(cache) == position) {
                line(
                        position + 1,
                        "\u25b6 fetch " + cache.name() + " of the next " + cache.bufferedLoop(),
                        i);
            }
        }
    }

    private int position(CacheReport cache) {
        return plan.schedule().order().indexOf(cache.bufferedLoop());
    }

    private void line(int depth, String words, int colour) {
        int x = left + caches.size() * BAR + INDENT * depth + INDENT;
        out.text(x, y + LINE - 6, words, colour);
        y += LINE;
    }
}
