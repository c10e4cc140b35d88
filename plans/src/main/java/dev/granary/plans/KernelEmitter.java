package dev.granary.plans;

import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.LoopNest.ArrayAccess;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Emitter of the kernel of a plan. Equal plans give equal texts in every process. */
final class KernelEmitter {
    private final SourceWriter out = new SourceWriter();
    private final PlanLoops loops;
    private final List<PlacedCache> caches;
    private final List<PlacedCache> copied;
    private final KernelNames names;
    private final CacheEmitter stages;
    private final StatementEmitter statement;
    private final TailGuards tails;
    private final Set<PlacedCache> decided = new HashSet<>(); // whose sections are being written

    private KernelEmitter(PlanLoops loops, List<PlacedCache> caches) {
        this.loops = loops;
        this.caches = caches;
        this.copied = caches.stream().filter(cache -> !cache.isElided()).toList();
        this.names = KernelNames.of(loops, copied);
        this.stages = new CacheEmitter(out, loops, names, this::space);
        this.statement = new StatementEmitter(loops, this::memory);
        this.tails = new TailGuards(loops, copied);
    }

    static String emit(PlanLoops loops, List<PlacedCache> caches) {
        KernelEmitter emitter = new KernelEmitter(loops, caches);
        emitter.kernel();
        return emitter.out.toString();
    }

    private LoopNest nest() {
        return loops.schedule().nest();
    }

    /** Returns the memory that the statement uses for an access. */
    private ElementPlaces memory(ArrayAccess access) {
        PlacedCache innermost = caches.stream()
                .filter(cache -> cache.array().equals(access.array()))
                .reduce((_, deeper) -> deeper)
                .orElse(null);
        return stages.memory(access.array(), innermost);
    }

    private String space(KernelArray array) {
        return caches.stream()
                        .anyMatch(cache -> cache.array().equals(array)
                                && cache.location() == MemoryLocation.CONSTANT)
                ? "__constant"
                : "__global";
    }

    private void kernel() {
        out.comment(nest().name() + ": " + nest().logic());
        out.comment("Loops: "
                + loops.all().stream().map(this::describe).collect(Collectors.joining(", ")));
        out.line("__kernel __attribute__((reqd_work_group_size("
                + Stream.of(0, 1, 2)
                        .map(dimension ->
                                String.valueOf(loops.size(ParallelAxis.of(true, dimension))))
                        .collect(Collectors.joining(", "))
                + ")))");
        String arguments = nest().arrays().stream()
                .map(this::argument)
                .collect(Collectors.joining(",\n        "));
        out.open("void " + nest().name() + "(\n        " + arguments + ")");
        copied.forEach(stages::declare);
        bindings();
        Set<PlanLoops.TailLimit> satisfied = new HashSet<>();
        int guards = guard(-1, -1, satisfied);
        emit(0, satisfied);
        close(guards);
        out.close();
    }

    private String describe(ScheduledLoop loop) {
        return loop
                + loops.bindings().entrySet().stream()
                        .filter(bound -> bound.getValue().equals(loop.index()))
                        .map(bound -> " (" + bound.getKey() + ")")
                        .collect(Collectors.joining());
    }

    private String argument(KernelArray array) {
        return space(array) + (array.role().isReadOnly() ? " const " : " ")
                + array.type().openClName() + " *" + array.name();
    }

    /** Declares the indices of the loops that work-groups and work-items replace. */
    private void bindings() {
        for (Map.Entry<ParallelAxis, LoopIndex> bound : loops.bindings().entrySet()) {
            ScheduledLoop loop = loops.schedule().loop(bound.getValue());
            if (loop.count() > 1) {
                ParallelAxis axis = bound.getKey();
                out.line("const int " + loop.index() + " = (int) "
                        + (axis.isItem() ? "get_local_id(" : "get_group_id(") + axis.dimension()
                        + ")" + (loop.step() == 1 ? "" : " * " + loop.step()) + ";");
            }
        }
        if (copied.stream().anyMatch(PlacedCache::isLocal)) {
            int x = loops.size(ParallelAxis.ITEM_X);
            int y = loops.size(ParallelAxis.ITEM_Y);
            List<String> terms = new ArrayList<>(List.of("get_local_id(0)"));
            if (y > 1) {
                terms.add("get_local_id(1) * " + x);
            }
            if (loops.size(ParallelAxis.ITEM_Z) > 1) {
                terms.add("get_local_id(2) * " + x * y);
            }
            out.line("const int " + BlockCopier.ITEM + " = (int) (" + String.join(" + ", terms)
                    + ");");
        }
    }

    /** Writes the loops from a position inward, with their caches. */
    private void emit(int position, Set<PlanLoops.TailLimit> satisfied) {
        for (PlacedCache cache : copied) {
            if (cache.trigger() == position && hasSection(cache)) {
                sections(cache, satisfied);
                return;
            }
        }
        for (PlacedCache cache : copied) {
            if (stages.isInPlace(cache)) {
                continue;
            }
            if (cache.bufferedLoop() == null && cache.trigger() == position) {
                stages.before(cache);
            } else if (cache.bufferedLoop() != null
                    && loops.position(cache.bufferedLoop().index()) == position) {
                stages.beforeBuffered(cache);
            }
        }
        if (position == loops.count()) {
            int guards = guard(position, position, satisfied);
            out.line(statement.scalar());
            close(guards);
        } else {
            loop(position, satisfied);
        }
        for (PlacedCache cache : copied.reversed()) {
            if (cache.bufferedLoop() == null
                    && cache.trigger() == position
                    && !stages.isInPlace(cache)) {
                stages.after(cache);
            }
        }
    }

    /** Returns true if a cache is to be left out in some tiles, for which loops are not written. */
    private boolean hasSection(PlacedCache cache) {
        return tails.isElided(cache) && !decided.contains(cache);
    }

    /** Writes the loops inside of a cache twice: without it for its section, and with it. */
    private void sections(PlacedCache cache, Set<PlanLoops.TailLimit> satisfied) {
        decided.add(cache);
        out.open("if (" + cache.section() + ")");
        stages.leaveOut(cache);
        emit(cache.trigger(), new HashSet<>(satisfied));
        stages.use(cache);
        out.closeAnd("else");
        emit(cache.trigger(), new HashSet<>(satisfied));
        out.close();
        decided.remove(cache);
    }

    private void loop(int position, Set<PlanLoops.TailLimit> outer) {
        ScheduledLoop loop = loops.all().get(position);
        Set<PlanLoops.TailLimit> satisfied = new HashSet<>(outer);
        if (loops.isVectorized(loop)) {
            vectorized(position, satisfied);
            return;
        }
        if (!loops.isSequential(loop)) {
            int guards = guard(position, position, satisfied);
            emit(position + 1, satisfied);
            close(guards);
            return;
        }
        if (tails.mustFollowBarrier(position)) {
            stages.together("Begin the loop");
        }
        boolean isUnrolled = tails.isUnrolled(position);
        if (isUnrolled) {
            out.unindented("#pragma unroll");
        }
        String end = isUnrolled ? String.valueOf(loop.extent()) : tails.end(position, satisfied);
        out.openLoop(loop.index(), 0, end, loop.step());
        List<PlacedCache> buffered = copied.stream()
                .filter(cache -> loop.equals(cache.bufferedLoop()))
                .toList();
        if (tails.mustBeginWithBarrier(position)) {
            stages.together("Begin the iteration");
        }
        buffered.forEach(cache -> stages.fetchNext(cache, end));
        int guards = guard(position, position, satisfied);
        emit(position + 1, satisfied);
        close(guards);
        buffered.forEach(cache -> stages.advance(cache, end));
        if (tails.mustEndWithBarrier(position)
                && buffered.stream().noneMatch(PlacedCache::isLocal)) {
            stages.together("End the iteration");
        }
        out.close();
    }

    /** Writes the innermost loop as vectors, and as a loop for an incomplete tile. */
    private void vectorized(int position, Set<PlanLoops.TailLimit> satisfied) {
        ScheduledLoop loop = loops.all().get(position);
        int guards = guard(position, position - 1, satisfied);
        String complete = loops.tails(loop.dimension()).stream()
                .map(tail -> tails.known(tail, position).add(AffineIndex.of(loop.count())) + " <= "
                        + tail.limit())
                .collect(Collectors.joining(" && "));
        if (complete.isEmpty()) {
            statement.vector(out, names);
        } else {
            out.open("if (" + complete + ")");
            statement.vector(out, names);
            out.closeAnd("else");
            out.openLoop(loop.index(), 0, tails.end(position, satisfied), loop.step());
            out.line(statement.scalar());
            out.close();
            out.close();
        }
        close(guards);
    }

    /** Opens the condition of {@link TailGuards#due}, and returns the number of opened blocks. */
    private int guard(int position, int known, Set<PlanLoops.TailLimit> satisfied) {
        String condition = tails.due(position, known, satisfied);
        if (condition.isEmpty()) {
            return 0;
        }
        out.open("if (" + condition + ")");
        return 1;
    }

    private void close(int blocks) {
        for (int i = 0; i < blocks; i++) {
            out.close();
        }
    }
}
