package dev.granary.plans.tuning;

import java.time.Duration;

/** The result of trying one plan. */
public sealed interface TuningTrial {
    /**
     * The plan gave the right results, and was measured several times.
     *
     * @param time the median time of a launch
     */
    record Measured(Duration time) implements TuningTrial {}

    /**
     * The plan gave the right results, but its first launch took more than twice the time of the
     * best plan, so that it was not measured further.
     *
     * @param time the time of that launch
     */
    record Slow(Duration time) implements TuningTrial {}

    /**
     * The values have no plan, or the plan exceeds a limit of the device.
     *
     * @param reason the rule or limit
     */
    record Unsuitable(String reason) implements TuningTrial {}

    /**
     * The driver refused to compile or to launch the kernel.
     *
     * @param reason the message of the driver, one line
     */
    record Refused(String reason) implements TuningTrial {}

    /**
     * The results differ from those of the naive plan.
     *
     * @param difference the first element that differs
     */
    record Wrong(String difference) implements TuningTrial {}
}
