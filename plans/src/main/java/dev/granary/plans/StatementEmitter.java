package dev.granary.plans;

import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest.ArrayAccess;
import dev.granary.plans.nest.LoopNest.NestLogic;
import dev.granary.plans.nest.LoopNest.UpdateOperator;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;
import dev.granary.plans.nest.ValueExpression;

import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Emitter of the statement of a nest: for one iteration, or for those of a vectorized loop. */
final class StatementEmitter {
    private final PlanLoops loops;
    private final Function<ArrayAccess, ElementPlaces> places;
    private final NestLogic logic;

    /**
     * Creates an emitter.
     *
     * @param places the memory that holds the element of an access
     */
    StatementEmitter(PlanLoops loops, Function<ArrayAccess, ElementPlaces> places) {
        this.loops = loops;
        this.places = places;
        this.logic = loops.schedule().nest().logic();
    }

    /** Returns the statement for one iteration. */
    String scalar() {
        ElementPlaces target = places.apply(logic.target());
        String place = target.place(coordinates(logic.target()));
        boolean isFloating = logic.value().isFloating();
        if (logic.operator() == UpdateOperator.SET) {
            return target.store(place, unwrapped(value(logic.value(), 1)), computed(isFloating));
        }
        // other operators of plan files are none of C
        boolean isOfC = logic.operator() == UpdateOperator.ADD
                || logic.operator() == UpdateOperator.MULTIPLY;
        if (isOfC
                && target.type() != ElementType.HALF
                && target.type() != ElementType.INT8
                && target.type().isFloating() == isFloating) {
            return target.load(place) + " " + logic.operator() + " "
                    + unwrapped(value(logic.value(), 1)) + ";";
        }
        return target.store(
                place,
                unwrapped(updated(element(target, place), target.type().isFloating(), 1)),
                computed(updateIsFloating()));
    }

    /** Returns the type of a computation. */
    static ElementType computed(boolean isFloating) {
        return isFloating ? ElementType.FLOAT : ElementType.INT32;
    }

    /** Returns an element with the type of its computation, by which functions are selected. */
    private static String element(ElementPlaces memory, String place) {
        return (memory.type() == ElementType.INT8 ? "(int) " : "") + memory.load(place);
    }

    private boolean updateIsFloating() {
        return logic.value().isFloating()
                || (logic.operator() != UpdateOperator.SET
                        && logic.target().array().type().isFloating());
    }

    /** Returns the new value of the target in parentheses, from its former one. */
    private String updated(String former, boolean isFormerFloating, int width) {
        boolean isFloating = updateIsFloating();
        String old = converted(former, isFormerFloating, isFloating, width);
        String value = converted(
                value(logic.value(), width), logic.value().isFloating(), isFloating, width);
        return combine(logic.operator(), old, value);
    }

    /** Returns two values of one type combined by an operator. */
    static String combine(UpdateOperator operator, String former, String value) {
        return switch (operator) {
            case SET -> value;
            case ADD -> "(" + former + " + " + value + ")";
            case MULTIPLY -> "(" + former + " * " + value + ")";
            case MIN -> "min(" + former + ", " + value + ")";
            case MAX -> "max(" + former + ", " + value + ")";
        };
    }

    private List<AffineIndex> coordinates(ArrayAccess access) {
        return access.coordinates().stream().map(loops::expand).toList();
    }

    /** Returns a value, of the type of its computation, for that many iterations. */
    private String value(ValueExpression value, int width) {
        boolean isFloating = value.isFloating();
        return switch (value) {
            case ArrayAccess access -> width == 1 ? scalar(access) : vector(access, width);
            case ValueExpression.FloatLiteral number -> splat(literal(number), true, width);
            case ValueExpression.IntLiteral number -> splat(literal(number), false, width);
            case ValueExpression.Binary binary ->
                binary.operator()
                        .apply(
                                operand(binary.left(), isFloating, width),
                                operand(binary.right(), isFloating, width));
            case ValueExpression.Unary unary ->
                unary.operator().apply(operand(unary.operand(), isFloating, width));
        };
    }

    private String operand(ValueExpression operand, boolean isFloating, int width) {
        return converted(value(operand, width), operand.isFloating(), isFloating, width);
    }

    private static String literal(ValueExpression.FloatLiteral number) {
        return number.value() < 0 ? "(" + number + ")" : number.toString();
    }

    private static String literal(ValueExpression.IntLiteral number) {
        if (number.value() == Integer.MIN_VALUE) {
            return "(-" + Integer.MAX_VALUE + " - 1)";
        }
        return number.value() < 0 ? "(" + number + ")" : number.toString();
    }

    private static String splat(String scalar, boolean isFloating, int width) {
        return width == 1 ? scalar : "(" + type(isFloating, width) + ")(" + scalar + ")";
    }

    private static String type(boolean isFloating, int width) {
        return (isFloating ? "float" : "int") + (width == 1 ? "" : width);
    }

    private static String converted(String text, boolean from, boolean to, int width) {
        if (from == to) {
            return text;
        }
        return width == 1
                ? "(" + type(to, 1) + ") " + text
                : "convert_" + type(to, width) + "(" + text + ")";
    }

    private String scalar(ArrayAccess access) {
        ElementPlaces memory = places.apply(access);
        String element = element(memory, memory.place(coordinates(access)));
        // the cache of an array may have another type than the array, whose values are meant
        return converted(
                element, memory.type().isFloating(), access.array().type().isFloating(), 1);
    }

    private ScheduledLoop vectorLoop() {
        return loops.schedule().vectorized().orElseThrow();
    }

    /** Returns the elements of all iterations of the vectorized loop. */
    private String vector(ArrayAccess access, int width) {
        ElementPlaces memory = places.apply(access);
        boolean isFloating = access.array().type().isFloating();
        LoopIndex index = vectorLoop().index();
        List<AffineIndex> first = at(coordinates(access), index, 0);
        long stride = memory.strideAlong(coordinates(access), index);
        if (stride == 0) {
            return splat(
                    converted(
                            element(memory, memory.place(first)),
                            memory.type().isFloating(),
                            isFloating,
                            1),
                    isFloating,
                    width);
        }
        if (stride == 1) {
            String loaded = memory.loadVector(width, memory.place(first));
            return memory.type() == ElementType.INT8 || memory.type().isFloating() != isFloating
                    ? "convert_" + type(isFloating, width) + "(" + loaded + ")"
                    : loaded;
        }
        return IntStream.range(0, width)
                .mapToObj(each -> converted(
                        element(memory, memory.place(at(coordinates(access), index, each))),
                        memory.type().isFloating(),
                        isFloating,
                        1))
                .collect(Collectors.joining(", ", "(" + type(isFloating, width) + ")(", ")"));
    }

    private static List<AffineIndex> at(
            List<AffineIndex> coordinates, LoopIndex index, long value) {
        return coordinates.stream()
                .map(each -> each.replace(index, AffineIndex.of(value)))
                .toList();
    }

    /** Writes the statement for all iterations of the vectorized loop. */
    void vector(SourceWriter out, KernelNames names) {
        int width = vectorLoop().count();
        ElementPlaces target = places.apply(logic.target());
        LoopIndex index = vectorLoop().index();
        boolean isFloating = updateIsFloating();
        String value = logic.operator() == UpdateOperator.SET
                ? value(logic.value(), width)
                : updated(
                        vector(logic.target(), width),
                        logic.target().array().type().isFloating(),
                        width);
        List<AffineIndex> coordinates = coordinates(logic.target());
        if (target.strideAlong(coordinates, index) == 1) {
            ElementType type = target.type();
            String stored = type == ElementType.INT8 || type.isFloating() != isFloating
                    ? "convert_" + (type == ElementType.HALF ? "float" : type.openClName()) + width
                            + "(" + value + ")"
                    : unwrapped(value);
            out.line(target.storeVector(width, target.place(at(coordinates, index, 0)), stored));
            return;
        }
        String name = names.unused("values");
        out.line("const " + type(isFloating, width) + " " + name + " = " + unwrapped(value) + ";");
        for (int each = 0; each < width; each++) {
            out.line(target.store(
                    target.place(at(coordinates, index, each)),
                    name + ".s" + Integer.toHexString(each),
                    computed(isFloating)));
        }
    }

    /** Returns an expression without parentheses around the whole of it. */
    static String unwrapped(String text) {
        if (!text.startsWith("(") || !text.endsWith(")")) {
            return text;
        }
        int depth = 0;
        for (int i = 0; i < text.length() - 1; i++) {
            depth += text.charAt(i) == '(' ? 1 : text.charAt(i) == ')' ? -1 : 0;
            if (depth == 0) {
                return text;
            }
        }
        return text.substring(1, text.length() - 1);
    }
}
