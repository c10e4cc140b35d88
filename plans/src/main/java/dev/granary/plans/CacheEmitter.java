package dev.granary.plans;

import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopNest.NestLogic;
import dev.granary.plans.nest.LoopNest.UpdateOperator;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import org.jspecify.annotations.Nullable;

import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Emitter of the stages of caches: copies, double buffers, and results that are written back. */
final class CacheEmitter {
    /** The traffic between a cache and its source. */
    private enum Traffic {
        /** Elements are read only. */
        READ,
        /** Elements are accumulated from zero (or one), and combined with the source afterwards. */
        ACCUMULATE,
        /** All elements are assigned, and written to the source afterwards. */
        WRITE,
        /** Elements are read before, and written afterwards. */
        UPDATE
    }

    private final SourceWriter out;
    private final PlanLoops loops;
    private final KernelNames names;
    private final Function<KernelArray, String> spaces;
    private final BlockCopier copier;
    private final Set<PlacedCache> inPlace = new HashSet<>();

    CacheEmitter(
            SourceWriter out,
            PlanLoops loops,
            KernelNames names,
            Function<KernelArray, String> spaces) {
        this.out = out;
        this.loops = loops;
        this.names = names;
        this.spaces = spaces;
        this.copier = new BlockCopier(out, loops, names);
    }

    /** Writes the declarations of a cache. */
    void declare(PlacedCache cache) {
        ElementPlaces own = own(cache);
        out.line(space(cache.location()) + own.storedType() + " " + own.name() + "["
                + cache.blocks() * cache.span() + "];");
        long buffer = cache.bufferElements(loops.groupItems());
        if (buffer > 0) {
            out.line(space(cache.bufferLocation()) + own.storedType() + " " + names.buffer(cache)
                    + "[" + buffer + "];");
        }
    }

    private static String space(MemoryLocation location) {
        return location == MemoryLocation.LOCAL ? "__local " : "";
    }

    /** Leaves a cache out from here, where its block is contiguous in the source. */
    void leaveOut(PlacedCache cache) {
        out.comment("No copy to " + own(cache).name() + ": the block is contiguous in "
                + source(cache).name());
        inPlace.add(cache);
    }

    /** Uses a cache again. */
    void use(PlacedCache cache) {
        inPlace.remove(cache);
    }

    boolean isInPlace(PlacedCache cache) {
        return inPlace.contains(cache);
    }

    /** Returns the nearest copy of an array, from a cache outward; the array if there is none. */
    ElementPlaces memory(KernelArray array, @Nullable PlacedCache cache) {
        PlacedCache copied = PlacedCache.copied(cache);
        while (copied != null && inPlace.contains(copied)) {
            copied = copied.copiedSource();
        }
        return copied == null ? ElementPlaces.of(array, spaces.apply(array)) : own(copied);
    }

    /** Writes the stage before the loops of a cache. */
    void before(PlacedCache cache) {
        Traffic traffic = traffic(cache);
        if (traffic == Traffic.WRITE) {
            barrier(cache); // others may still copy elements of the block before
            return;
        }
        out.comment((traffic == Traffic.ACCUMULATE ? "Clear " : "Copy ") + description(cache));
        barrier(cache);
        if (traffic == Traffic.ACCUMULATE) {
            clear(cache);
        } else {
            copy(cache, cache.block(), source(cache), own(cache));
        }
        barrier(cache);
    }

    /** Writes the stage after the loops of a cache. */
    void after(PlacedCache cache) {
        Traffic traffic = traffic(cache);
        if (traffic == Traffic.READ) {
            return;
        }
        out.comment((traffic == Traffic.ACCUMULATE ? "Combine " : "Write ")
                + own(cache).name() + " with " + source(cache).name());
        barrier(cache);
        if (traffic == Traffic.ACCUMULATE) {
            combine(cache);
        } else {
            copy(cache, cache.block(), own(cache), source(cache));
        }
    }

    /** Writes the stage before the buffered loop of a cache: a copy for the first iteration. */
    void beforeBuffered(PlacedCache cache) {
        ScheduledLoop loop = buffered(cache);
        AffineIndex first = AffineIndex.of(0);
        out.comment("Copy for the first " + loop.index() + ": " + description(cache));
        barrier(cache);
        copy(
                cache,
                cache.block().at(loop.index(), first),
                source(cache),
                own(cache).at(loop.index(), first));
        barrier(cache);
    }

    /**
     * Writes the stage at the start of the buffered loop: a fetch for the next iteration.
     *
     * @param end the end of the loop as an expression of C
     */
    void fetchNext(PlacedCache cache, String end) {
        out.comment("Fetch for the next " + buffered(cache).index() + ": " + description(cache));
        move(cache, end, source(cache), true);
    }

    /** Writes the stage at the end of the buffered loop: the fetched elements become current. */
    void advance(PlacedCache cache, String end) {
        out.comment("Move the fetched elements to " + own(cache).name());
        barrier(cache);
        move(cache, end, own(cache), false);
        barrier(cache);
    }

    /** Writes a barrier for work-items that take different branches in an iteration. */
    void together(String action) {
        out.comment(action + " together");
        out.line("barrier(CLK_LOCAL_MEM_FENCE);");
    }

    /** Copies between the buffer and the memory at its other side, if there is a next iteration. */
    private void move(PlacedCache cache, String end, ElementPlaces other, boolean isFetch) {
        ScheduledLoop loop = buffered(cache);
        AffineIndex next = AffineIndex.of(loop.index()).add(AffineIndex.of(loop.step()));
        ActiveBlock block = cache.block().at(loop.index(), next);
        ElementPlaces there = isFetch ? other : other.at(loop.index(), next);
        ElementPlaces buffer = ElementPlaces.of(cache, names.buffer(cache), cache.bufferLocation())
                .at(loop.index(), next);
        out.open("if (" + next + " < " + end + ")");
        if (cache.isLocal() && cache.bufferLocation() == MemoryLocation.PRIVATE) {
            String place = copier.ownPlace(cache);
            copier.each(cache, block, source(cache).strides(), coordinates -> {
                String far = there.place(coordinates);
                return isFetch
                        ? buffer.store(place, there.load(far), there.type())
                        : there.store(far, buffer.load(place), buffer.type());
            });
        } else if (isFetch) {
            copy(cache, block, there, buffer);
        } else {
            copy(cache, block, buffer, there);
        }
        out.close();
    }

    private void copy(PlacedCache cache, ActiveBlock block, ElementPlaces from, ElementPlaces to) {
        if (copier.byVectors(cache, block, from, to)) {
            return;
        }
        copier.each(
                cache,
                block,
                source(cache).strides(),
                coordinates -> to.store(
                        to.place(coordinates), from.load(from.place(coordinates)), from.type()));
    }

    private void clear(PlacedCache cache) {
        ElementPlaces own = own(cache);
        boolean isFloating = cache.type().isFloating();
        String zero = logic().operator() == UpdateOperator.MULTIPLY ? "1" : "0";
        // without limits: the whole cache
        ActiveBlock whole = new ActiveBlock(
                cache.block().lower(),
                cache.block().sizes(),
                List.of(),
                cache.block().isDense());
        copier.each(
                cache,
                whole,
                own.strides(),
                coordinates -> own.store(
                        own.place(coordinates), isFloating ? zero + ".0f" : zero, own.type()));
    }

    private void combine(PlacedCache cache) {
        ElementPlaces own = own(cache);
        ElementPlaces source = source(cache);
        boolean isFloating =
                cache.array().type().isFloating() || logic().value().isFloating();
        copier.each(cache, cache.block(), source.strides(), coordinates -> {
            String place = source.place(coordinates);
            String sum = StatementEmitter.combine(
                    logic().operator(),
                    computed(source.load(place), source, isFloating),
                    computed(own.load(own.place(coordinates)), own, isFloating));
            return source.store(
                    place, StatementEmitter.unwrapped(sum), StatementEmitter.computed(isFloating));
        });
    }

    private static String computed(String text, ElementPlaces from, boolean isFloating) {
        return from.type().isFloating() == isFloating
                ? text
                : "(" + (isFloating ? "float" : "int") + ") " + text;
    }

    /** Writes a barrier if the cache is in local memory, and work-items share it. */
    private void barrier(PlacedCache cache) {
        if (cache.isLocal() && loops.groupItems() > 1) {
            out.line("barrier(CLK_LOCAL_MEM_FENCE"
                    + (cache.array().role().isReadOnly() ? "" : " | CLK_GLOBAL_MEM_FENCE")
                    + ");");
        }
    }

    private Traffic traffic(PlacedCache cache) {
        NestLogic logic = logic();
        if (!logic.target().array().equals(cache.array())) {
            return Traffic.READ;
        }
        boolean isRead =
                logic.value().accesses().anyMatch(access -> access.array().equals(cache.array()));
        return switch (logic.operator()) {
            case ADD, MULTIPLY -> isRead ? Traffic.UPDATE : Traffic.ACCUMULATE;
            case SET -> isRead || !cache.block().isDense() ? Traffic.UPDATE : Traffic.WRITE;
            case MIN, MAX -> Traffic.UPDATE;
        };
    }

    private NestLogic logic() {
        return loops.schedule().nest().logic();
    }

    private ElementPlaces own(PlacedCache cache) {
        return ElementPlaces.of(cache, names.cache(cache), cache.location());
    }

    private ElementPlaces source(PlacedCache cache) {
        return memory(cache.array(), cache.source());
    }

    private static ScheduledLoop buffered(PlacedCache cache) {
        return Objects.requireNonNull(cache.bufferedLoop());
    }

    private String description(PlacedCache cache) {
        String sizes = cache.block().sizes().stream()
                .map(String::valueOf)
                .collect(Collectors.joining(" x "));
        String multiples = BlockCopier.multiples(cache);
        return own(cache).name() + ", " + sizes + " elements"
                + (multiples.isEmpty() ? "" : " for each " + multiples)
                + (cache.isLocal()
                        ? ", by " + loops.groupItems() + " work-items, " + cache.strategy()
                        : "");
    }
}
