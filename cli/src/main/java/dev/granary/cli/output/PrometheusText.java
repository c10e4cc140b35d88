package dev.granary.cli.output;

import dev.granary.coordinator.statistics.Counter;

import java.io.PrintWriter;
import java.util.Map;
import java.util.TreeMap;

/**
 * Writer of metrics in the text exposition format 0.0.4 of Prometheus, for the textfile collector
 * of its node exporter.
 */
public final class PrometheusText {
    private final PrintWriter out;

    /** Creates a writer to {@code out}. */
    public PrometheusText(PrintWriter out) {
        this.out = out;
    }

    /** Prints all counters of {@code totals}; those that are missing there are left out. */
    public void counters(Map<String, Long> totals) {
        if (totals.containsKey("processes")) {
            family(
                    "granary_processes_total",
                    "counter",
                    "processes that used the directory and ended in order");
            sample("granary_processes_total", totals.getOrDefault("processes", 0L));
        }
        for (Counter counter : Counter.values()) {
            Long total = totals.get(counter.label());
            if (total != null) {
                String name = counter.prometheusName();
                family(name, "counter", counter.description());
                Map<String, Long> layers = ofLayers(totals, counter.label() + " ");
                layers.forEach(
                        (layer, value) -> sample(name, counter.inBaseUnit(value), "layer", layer));
                if (layers.isEmpty()) {
                    sample(name, counter.inBaseUnit(total));
                }
            }
        }
    }

    /** Returns the parts of the layers by their names; empty if there was only one. */
    private static Map<String, Long> ofLayers(Map<String, Long> totals, String prefix) {
        Map<String, Long> layers = new TreeMap<>();
        totals.forEach((label, value) -> {
            if (label.startsWith(prefix)) {
                layers.put(label.substring(prefix.length()), value);
            }
        });
        return layers;
    }

    /** Begins a metric; its samples follow. */
    public void family(String name, String type, String help) {
        line("# HELP " + name + " " + help.replace("\\", "\\\\").replace("\n", "\\n"));
        line("# TYPE " + name + " " + type);
    }

    /** Prints a sample with labels given as name, value, name, value... */
    public void sample(String name, Number value, String... labels) {
        StringBuilder line = new StringBuilder(name);
        for (int i = 0; i < labels.length; i += 2) {
            line.append(i == 0 ? '{' : ',')
                    .append(labels[i])
                    .append("=\"")
                    .append(escaped(labels[i + 1]))
                    .append('"');
        }
        if (labels.length > 0) {
            line.append('}');
        }
        line(line.append(' ').append(number(value)).toString());
    }

    /** Prints a line with the ending of the format, which is the same on all systems. */
    private void line(String text) {
        out.print(text + "\n");
    }

    private static String escaped(String label) {
        return label.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
    }

    private static String number(Number value) {
        double number = value.doubleValue();
        return number == Math.rint(number) && Math.abs(number) < 1L << 53
                ? Long.toString(value.longValue())
                : Double.toString(number);
    }
}
