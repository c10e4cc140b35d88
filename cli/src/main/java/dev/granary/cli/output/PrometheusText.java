package dev.granary.cli.output;

import dev.granary.coordinator.statistics.Counter;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Writer of metrics in the text exposition format 0.0.4 of Prometheus, for the textfile collector
 * of its node exporter.
 */
public record PrometheusText(PrintWriter out) {
    /** Prints all counters of {@code totals}, or the parts of each layer if there are some. */
    public void counters(Map<String, Long> totals) {
        if (totals.containsKey("processes")) {
            metric(
                    "granary_processes_total",
                    "counter",
                    "processes that used the directory and ended in order",
                    Map.of("", totals.getOrDefault("processes", 0L)));
        }
        for (Counter counter : Counter.values()) {
            if (totals.containsKey(counter.label())) {
                String prefix = counter.label() + " ";
                Map<String, Number> samples = new TreeMap<>();
                totals.forEach((label, value) -> {
                    if (label.startsWith(prefix)) {
                        samples.put(
                                labels("layer", label.substring(prefix.length())),
                                counter.inBaseUnit(value));
                    }
                });
                if (samples.isEmpty()) {
                    samples.put("", counter.inBaseUnit(totals.getOrDefault(counter.label(), 0L)));
                }
                metric(counter.prometheusName(), "counter", counter.description(), samples);
            }
        }
    }

    /** Prints a metric with its samples by their {@link #labels}, which may be empty. */
    public void metric(
            String name, String type, String help, Map<String, ? extends Number> samples) {
        line("# HELP " + name + " " + help.replace("\\", "\\\\").replace("\n", "\\n"));
        line("# TYPE " + name + " " + type);
        samples.forEach((labels, value) -> line(name + labels + " " + number(value)));
    }

    /** Returns the text of labels, given as name, value, name, value... */
    public static String labels(String... namesAndValues) {
        List<String> labels = new ArrayList<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            labels.add(namesAndValues[i] + "=\""
                    + namesAndValues[i + 1]
                            .replace("\\", "\\\\")
                            .replace("\"", "\\\"")
                            .replace("\n", "\\n")
                    + "\"");
        }
        return "{" + String.join(",", labels) + "}";
    }

    /** Prints a line with the ending of the format, which is the same on all systems. */
    private void line(String text) {
        out.print(text + "\n");
    }

    private static String number(Number value) {
        double number = value.doubleValue();
        return number == Math.rint(number) && Math.abs(number) < 1L << 53
                ? Long.toString(value.longValue())
                : Double.toString(number);
    }
}
