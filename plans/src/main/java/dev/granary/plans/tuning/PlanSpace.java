package dev.granary.plans.tuning;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Sha256;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.ParallelAxis;
import dev.granary.plans.expression.SpaceConstraint;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.LoopSchedule;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * The plans of one nest among which a tuner chooses: parameters with their values, constraints, and
 * a function from values to a plan. Immutable; thread-safe if the function is.
 *
 * <p>The points of a space are the combinations of values that satisfy all constraints. A point for
 * which the function throws {@link IllegalArgumentException} has no plan.
 */
public final class PlanSpace {
    /** The axes of work-groups, then those of work-items. */
    private static final List<ParallelAxis> AXES = List.of(ParallelAxis.values());

    /** Work-items in each of one, two and three dimensions; their product is 64. */
    private static final List<Integer> SIDES = List.of(64, 8, 4);

    /** The greatest number of combinations of values, with those that constraints exclude. */
    public static final int MAX_COMBINATIONS = 1_000_000;

    /** The number of plans that stand for the function in the {@linkplain #samples() samples}. */
    private static final int SAMPLES = 16;

    private static final int MAX_VALUE_LENGTH = 200;
    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9_]{0,63}");
    private static final Pattern VALUE = Pattern.compile("[^\\p{Cc}]*");

    private final LoopNest nest;
    private final SequencedMap<String, List<String>> parameters;
    private final List<SpaceConstraint> constraints;
    private final Function<PlanParameters, KernelPlan> plans;
    private final long[] points; // numbers of combinations
    // computed at first use; a race computes it twice, with the same result
    private @Nullable Sha256 samples;

    private PlanSpace(Builder builder, Function<PlanParameters, KernelPlan> plans) {
        this.nest = builder.nest;
        this.parameters =
                Collections.unmodifiableSequencedMap(new LinkedHashMap<>(builder.parameters));
        this.constraints = List.copyOf(builder.constraints);
        this.plans = plans;
        this.points = LongStream.range(0, combinations())
                .filter(number -> isAllowed(combination(number)))
                .toArray();
        if (points.length == 0) {
            throw new IllegalArgumentException("No combination of values in the space of "
                    + nest.name() + " satisfies its constraints: " + constraints);
        }
    }

    /** Returns a builder of a space of plans for this nest. */
    public static Builder of(LoopNest nest) {
        return new Builder(nest);
    }

    /** A builder: parameters, then constraints, then the plans. Not thread-safe. */
    public static final class Builder {
        private final LoopNest nest;
        private final LinkedHashMap<String, List<String>> parameters = new LinkedHashMap<>();
        private final List<SpaceConstraint> constraints = new ArrayList<>();

        private Builder(LoopNest nest) {
            this.nest = nest;
        }

        /**
         * Adds a parameter.
         *
         * @param name a lower-case letter, then lower-case letters, digits and underscores
         * @param values numbers, truth values or texts of at most 200 characters, each once
         * @throws IllegalArgumentException if the name or a value is invalid or occurs twice, or
         *     there are no values
         */
        public Builder parameter(String name, Object... values) {
            List<String> texts = Arrays.stream(values).map(String::valueOf).toList();
            if (!NAME.matcher(name).matches() || name.equals("or")) {
                throw new IllegalArgumentException(
                        "The name of a parameter begins with a lower-case"
                                + " letter, and has lower-case letters, digits and underscores: "
                                + name);
            }
            if (texts.isEmpty() || new LinkedHashSet<>(texts).size() < texts.size()) {
                throw new IllegalArgumentException(
                        "The parameter " + name + " needs values, each once: " + texts);
            }
            for (String text : texts) {
                if (text.length() > MAX_VALUE_LENGTH || !VALUE.matcher(text).matches()) {
                    throw new IllegalArgumentException("A value of the parameter " + name
                            + " has a control character, or more than " + MAX_VALUE_LENGTH
                            + " characters");
                }
            }
            if (parameters.putIfAbsent(name, texts) != null) {
                throw new IllegalArgumentException("There are two parameters " + name);
            }
            return this;
        }

        /**
         * Adds a constraint: comparisons of numbers, parameters, sums and products, with {@code or}
         * between them. Texts have single quotes: {@code memory != 'local' or tile <= 64}.
         *
         * @throws IllegalArgumentException if it is malformed, or contains a name that is not that
         *     of a parameter
         */
        public Builder where(String constraint) {
            SpaceConstraint parsed = new SpaceConstraint(constraint);
            for (String name : parsed.names()) {
                if (!parameters.containsKey(name)) {
                    throw new IllegalArgumentException("The constraint \"" + constraint
                            + "\" has the name " + name + ", which is no parameter");
                }
            }
            constraints.add(parsed);
            return this;
        }

        /**
         * Returns the space.
         *
         * @param plans returns the plan for some values, always the same one; it throws
         *     {@link IllegalArgumentException} if there is none
         * @throws IllegalArgumentException if there are more than {@link #MAX_COMBINATIONS}
         *     combinations, constraints exclude all of them, or a constraint cannot be computed for
         *     one of them
         */
        public PlanSpace plans(Function<PlanParameters, KernelPlan> plans) {
            return new PlanSpace(this, plans);
        }
    }

    /** Returns the nest of all plans. */
    public LoopNest nest() {
        return nest;
    }

    /** Returns the values of each parameter. */
    public SequencedMap<String, List<String>> parameters() {
        return parameters;
    }

    /** Returns the constraints. */
    public List<String> constraints() {
        return constraints.stream().map(SpaceConstraint::toString).toList();
    }

    /** Returns the number of points. */
    public int size() {
        return points.length;
    }

    /** Returns a point by its number, counted from 0. The last parameter changes first. */
    public PlanParameters point(int number) {
        return combination(points[number]);
    }

    /** Returns true if these are values of all parameters, and satisfy the constraints. */
    public boolean contains(PlanParameters values) {
        return List.copyOf(values.values().keySet()).equals(List.copyOf(parameters.keySet()))
                && values.values().entrySet().stream().allMatch(value -> parameters
                        .getOrDefault(value.getKey(), List.of())
                        .contains(value.getValue()))
                && isAllowed(values);
    }

    /**
     * Returns the plan of a point.
     *
     * @throws IllegalArgumentException if the values are not a point, or have no plan
     */
    public KernelPlan plan(PlanParameters values) {
        if (!contains(values)) {
            throw new IllegalArgumentException(
                    "The values " + values + " are not in the space of " + nest.name());
        }
        KernelPlan plan = plans.apply(values);
        if (!plan.schedule().nest().equals(nest)) {
            throw new IllegalArgumentException(
                    "The plan for " + values + " is one of another nest");
        }
        return plan;
    }

    /**
     * Returns the plan that results are compared with, as a person writes it first: a work-item for
     * each element of the target, work-groups of 64, all other loops inside, and no caches.
     */
    public KernelPlan naive() {
        // the last dimensions are usually those of consecutive elements
        List<LoopIndex> parallel = nest.extents().sequencedKeySet().reversed().stream()
                .filter(nest::isAloneInTarget)
                .limit(SIDES.size())
                .toList();
        if (parallel.isEmpty()) {
            return KernelPlan.of(nest.schedule());
        }
        int side = SIDES.get(parallel.size() - 1);
        LoopSchedule schedule = nest.schedule();
        for (LoopIndex index : parallel) {
            schedule = schedule.split(index, side, inner(schedule, index));
        }
        KernelPlan plan = KernelPlan.of(schedule);
        for (int axis = 0; axis < parallel.size(); axis++) {
            LoopIndex index = parallel.get(axis);
            plan = plan.bind(index, AXES.get(axis))
                    .bind(schedule.loopsOf(index).getLast().index(), AXES.get(SIDES.size() + axis));
        }
        return plan;
    }

    /** Returns a name for the loop inside of a tile that nothing else has. */
    private static LoopIndex inner(LoopSchedule schedule, LoopIndex index) {
        Set<String> names = schedule.names();
        LoopIndex inner = index.inner();
        while (names.contains(inner.name())) {
            inner = LoopIndex.of(inner.name() + "_");
        }
        return inner;
    }

    /**
     * Returns the SHA-256 of the sources of some points: the first, the last, and others in equal
     * distances. It changes with the function, and with the emitted code.
     */
    Sha256 samples() {
        Sha256 current = samples;
        if (current == null) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < SAMPLES; i++) {
                int number = (int) ((points.length - 1L) * i / (SAMPLES - 1));
                text.append(sourceOrReason(point(number))).append('\0');
            }
            current = Sha256.of(text.toString().getBytes(UTF_8));
            samples = current;
        }
        return current;
    }

    private String sourceOrReason(PlanParameters values) {
        try {
            return plan(values).source();
        } catch (IllegalArgumentException e) {
            return "none";
        }
    }

    private boolean isAllowed(PlanParameters values) {
        return constraints.stream().allMatch(constraint -> constraint.holds(values.values()));
    }

    private long combinations() {
        long product = 1;
        for (List<String> values : parameters.values()) {
            product *= values.size();
            if (product > MAX_COMBINATIONS) {
                throw new IllegalArgumentException("The space of " + nest.name()
                        + " has more than " + MAX_COMBINATIONS
                        + " combinations; give fewer values");
            }
        }
        return product;
    }

    /** Returns a combination by its number; the last parameter is the last digit. */
    private PlanParameters combination(long number) {
        LinkedHashMap<String, String> reversed = new LinkedHashMap<>();
        long rest = number;
        for (var parameter : parameters.reversed().entrySet()) {
            List<String> values = parameter.getValue();
            reversed.put(parameter.getKey(), values.get((int) (rest % values.size())));
            rest /= values.size();
        }
        return new PlanParameters(reversed.reversed());
    }

    @Override
    public String toString() {
        return nest.name() + ": " + points.length + " points";
    }

    /**
     * One value for each parameter of a {@link PlanSpace}.
     *
     * @param values the values by the names of their parameters, in the order of the space
     */
    public record PlanParameters(SequencedMap<String, String> values) {
        /** Copies the values. */
        public PlanParameters {
            values = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(values));
        }

        /**
         * Returns a value as text.
         *
         * @throws IllegalArgumentException if there is no such parameter
         */
        public String text(String name) {
            String value = values.get(name);
            if (value == null) {
                throw new IllegalArgumentException("There is no parameter " + name
                        + "; the parameters are " + String.join(", ", values.keySet()));
            }
            return value;
        }

        /**
         * Returns a value as a number.
         *
         * @throws IllegalArgumentException if there is no such parameter, or its value is not a
         *     number
         */
        public int number(String name) {
            try {
                return Integer.parseInt(text(name));
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException(
                        "The value of the parameter " + name + " is no number: " + text(name));
            }
        }

        /**
         * Returns true if a value is {@code true}.
         *
         * @throws IllegalArgumentException if there is no such parameter
         */
        public boolean flag(String name) {
            return text(name).equals("true");
        }

        /** Returns text such as {@code tile=16 memory=local}. */
        @Override
        public String toString() {
            return values.entrySet().stream()
                    .map(value -> value.getKey() + "=" + value.getValue())
                    .collect(Collectors.joining(" "));
        }
    }
}
