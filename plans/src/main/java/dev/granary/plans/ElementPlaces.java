package dev.granary.plans;

import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import java.util.ArrayList;
import java.util.List;

/**
 * The places of an array's elements in one memory: in the array itself, in a cache, or in the
 * buffer of its next blocks.
 *
 * @param name the name of the memory in the kernel
 * @param type the type of its elements
 * @param space the address space, such as {@code __local}
 * @param isArgument true for an argument of the kernel
 * @param strides the distance of neighbours in each dimension
 * @param lower the first coordinate in each dimension
 * @param multiples the loops, each iteration of which has a block of its own
 * @param span the elements of one block
 */
record ElementPlaces(
        String name,
        ElementType type,
        String space,
        boolean isArgument,
        List<Long> strides,
        List<AffineIndex> lower,
        List<ScheduledLoop> multiples,
        long span) {
    static ElementPlaces of(KernelArray array, String space) {
        List<Long> strides = array.layout().strides(array.shape());
        return new ElementPlaces(
                array.name(),
                array.type(),
                space,
                true,
                strides,
                strides.stream().map(_ -> AffineIndex.of(0)).toList(),
                List.of(),
                0);
    }

    static ElementPlaces of(PlacedCache cache, String name, MemoryLocation location) {
        return new ElementPlaces(
                name,
                cache.type(),
                "__" + location,
                false,
                cache.strides(),
                cache.block().lower(),
                cache.multiples(),
                cache.span());
    }

    /** Returns these places for another value of a loop. */
    ElementPlaces at(LoopIndex index, AffineIndex value) {
        return new ElementPlaces(
                name,
                type,
                space,
                isArgument,
                strides,
                lower.stream().map(each -> each.replace(index, value)).toList(),
                multiples,
                span);
    }

    /** Returns the place of the element at these coordinates as an expression of C. */
    String place(List<AffineIndex> coordinates) {
        List<String> terms = new ArrayList<>();
        long block = span;
        for (ScheduledLoop loop : multiples.reversed()) {
            terms.addFirst(multiple(loop, block));
            block = Math.multiplyExact(block, (long) loop.count());
        }
        long constant = 0;
        for (int r = 0; r < strides.size(); r++) {
            AffineIndex offset = coordinates.get(r).add(lower.get(r).scale(-1));
            long stride = strides.get(r);
            if (offset.terms().isEmpty()) {
                constant += offset.constant() * stride;
            } else {
                terms.add(times(offset, stride));
            }
        }
        if (constant != 0 || terms.isEmpty()) {
            terms.add(String.valueOf(constant));
        }
        return String.join(" + ", terms).replace("+ -", "- ");
    }

    private static String multiple(ScheduledLoop loop, long block) {
        String number = loop.step() == 1 ? loop.index().name() : loop.index() + " / " + loop.step();
        return block == 1 ? number : number + " * " + block;
    }

    private static String times(AffineIndex offset, long factor) {
        String text = offset.toString();
        boolean isOneTerm = offset.terms().size() + (offset.constant() == 0 ? 0 : 1) == 1;
        if (factor == 1) {
            return text;
        }
        return isOneTerm && offset.terms().values().stream().allMatch(each -> each == 1)
                ? text + " * " + factor
                : "(" + text + ") * " + factor;
    }

    /** Returns the type of a declaration: half elements of a cache are stored as their bits. */
    String storedType() {
        return type == ElementType.HALF && !isArgument ? "ushort" : type.openClName();
    }

    /** Returns the address of half elements. */
    private String halfs(boolean isWritten) {
        return isArgument ? name : "(" + space + (isWritten ? "" : " const") + " half *) " + name;
    }

    /** Returns the element at a place as an expression of C. */
    String load(String place) {
        return type == ElementType.HALF
                ? "vload_half(" + place + ", " + halfs(false) + ")"
                : name + "[" + place + "]";
    }

    /**
     * Returns the statement that stores a value.
     *
     * @param from the type of the value
     */
    String store(String place, String value, ElementType from) {
        if (type == ElementType.HALF) {
            return "vstore_half(" + (from.isFloating() ? value : "(float) (" + value + ")") + ", "
                    + place + ", " + halfs(true) + ");";
        }
        boolean isSame = type == from || (type == ElementType.FLOAT && from == ElementType.HALF);
        return name + "[" + place + "] = "
                + (isSame ? value : "(" + type.openClName() + ") (" + value + ")") + ";";
    }

    /** Returns consecutive elements from a place as a vector. */
    String loadVector(int width, String place) {
        return type == ElementType.HALF
                ? "vload_half" + width + "(0, " + halfs(false) + " + " + place + ")"
                : "vload" + width + "(0, " + name + " + " + place + ")";
    }

    /** Returns the statement that stores a vector of the same type of element. */
    String storeVector(int width, String place, String value) {
        return type == ElementType.HALF
                ? "vstore_half" + width + "(" + value + ", 0, " + halfs(true) + " + " + place + ");"
                : "vstore" + width + "(" + value + ", 0, " + name + " + " + place + ");";
    }

    /** Returns the distance of neighbours along a loop, if all coordinates of others stay. */
    long strideAlong(List<AffineIndex> coordinates, LoopIndex index) {
        long stride = 0;
        for (int r = 0; r < strides.size(); r++) {
            long factor = Math.subtractExact(
                    coordinates.get(r).factor(index), lower.get(r).factor(index));
            stride = Math.addExact(stride, Math.multiplyExact(factor, strides.get(r)));
        }
        return stride;
    }
}
