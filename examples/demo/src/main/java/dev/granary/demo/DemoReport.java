package dev.granary.demo;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.demo.MachineResult.ProgramResult;
import dev.granary.demo.MachineResult.Summary;

import java.io.PrintStream;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The report of the demo, as text or JSON: the results of ci, node and laptop. */
record DemoReport(List<MachineResult> machines) {
    /**
     * Returns true if node and laptop compiled and tuned nothing, all results were right, and each
     * machine made its constants once.
     */
    boolean isSuccess() {
        return ci().isRight() && machines.stream().skip(1).allMatch(MachineResult::isServed);
    }

    private MachineResult ci() {
        return machines.getFirst();
    }

    private int size() {
        return ci().programs().size();
    }

    /** Returns the results of one program on all machines. */
    private List<ProgramResult> results(int program) {
        return machines.stream().map(machine -> machine.programs().get(program)).toList();
    }

    void printJson(PrintStream out) {
        JsonArray rows = new JsonArray();
        for (int i = 0; i < size(); i++) {
            List<ProgramResult> each = results(i);
            JsonObject row = new JsonObject();
            row.addProperty("name", each.getFirst().name());
            row.addProperty("bytes", each.getFirst().bytes());
            row.addProperty("compiledMillis", each.getFirst().millis());
            row.addProperty("bucketMillis", each.get(1).millis());
            row.addProperty("localMillis", each.getLast().millis());
            row.addProperty("right", each.stream().allMatch(ProgramResult::isRight));
            rows.add(row);
        }
        Gson gson = new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();
        JsonObject report = new JsonObject();
        report.addProperty("kernels", size());
        report.add(
                "roles",
                gson.toJsonTree(machines.stream().map(MachineResult::summary).toList()));
        report.add("results", rows);
        report.addProperty("device", ci().device());
        report.addProperty("checked", ci().checked());
        report.add("lowerCachesOff", gson.toJsonTree(DriverVariables.DISABLED_CACHES));
        report.addProperty("success", isSuccess());
        out.println(gson.toJson(report));
    }

    void printText(PrintStream out) {
        out.printf(
                "%nDevice: %s%n%s%n%n",
                ci().device(),
                ci().checked()
                        ? "Times until every kernel has run once: lookup, loading, first launches."
                        : "Times until every kernel is loaded: lookup and loading.");
        printPrograms(out);
        if (ci().isTuned()) {
            out.printf(
                    "%nThe plan is the fastest that ci found; its times, not in the total, include"
                            + "%nthe search. On ci it was %.1f times as fast as the naive plan."
                            + "%nPlans tried, of %d: %s.%n",
                    ci().speedup(),
                    Products.SPACE.size(),
                    machines.stream()
                            .map(MachineResult::summary)
                            .map(machine -> machine.role() + " " + machine.plansTried())
                            .collect(Collectors.joining(", ")));
        }
        printMachines(out);
        out.println("\n'faster': how many times faster from disk than compiled. The laptop had no"
                + " bucket.\n'memory': found again in memory. 'made', 'reused': constant weights,"
                + " packed once on\neach machine and used by two programs in turn; with OpenCL"
                + " only.");
        if (!ci().checked()) {
            out.println("The driver simulates this device, which computes nothing: no kernel was"
                    + " launched,\nand no result was checked. Compiling, binaries and restoring are"
                    + " real.");
        }
        out.println("Driver caches switched off:");
        DriverVariables.DISABLED_CACHES.forEach(cache -> out.println("  " + cache));
        String tuned = ci().isTuned() ? " and tuned" : "";
        out.println(
                !isSuccess()
                        ? "FAILED: node or laptop compiled or tuned something, constants were made"
                                + " more\nthan once, or a result is wrong."
                        : "Compiled" + tuned + " once; node and laptop compiled" + tuned
                                + " nothing"
                                + (ci().checked() ? ",\nand every result is right." : "."));
    }

    private void printPrograms(PrintStream out) {
        out.printf(
                "%-17s %9s  %9s  %8s  %8s  %6s%n",
                "kernel", "size", "compiled", "bucket", "disk", "faster");
        int untuned = ci().isTuned() ? size() - 1 : size();
        IntStream.range(0, untuned).forEach(program -> printRow(out, results(program)));
        long bytes = ci().programs().stream()
                .limit(untuned)
                .mapToLong(ProgramResult::bytes)
                .sum();
        printRow(
                out,
                machines.stream()
                        .map(one -> new ProgramResult(
                                "total", "", bytes, one.summary().millis(), ""))
                        .toList());
        IntStream.range(untuned, size()).forEach(program -> printRow(out, results(program)));
    }

    private static void printRow(PrintStream out, List<ProgramResult> each) {
        ProgramResult ci = each.getFirst();
        out.printf(
                Locale.ROOT,
                "%-17s %,5.0f KiB  %9s  %8s  %8s  %6.0f%n",
                ci.name(),
                ci.bytes() / 1024.0,
                time(ci),
                time(each.get(1)),
                time(each.getLast()),
                ci.millis() / each.getLast().millis());
    }

    private static String time(ProgramResult result) {
        String format = result.millis() < 100 ? "%.1f ms" : "%,.0f ms";
        return String.format(Locale.ROOT, format, result.millis());
    }

    private void printMachines(PrintStream out) {
        String row = "%-7s  %8s  %6s  %4s  %6s  %4s  %6s  %8s%n";
        out.println();
        out.printf(
                row, "machine", "compiled", "bucket", "disk", "memory", "made", "reused", "right");
        for (MachineResult machine : machines) {
            Summary counts = machine.summary();
            out.printf(
                    row,
                    counts.role(),
                    counts.compiled(),
                    counts.bucket(),
                    counts.local(),
                    counts.memory(),
                    counts.constantsMade(),
                    counts.constantsReused(),
                    ci().checked() ? counts.verified() + " of " + size() : "-");
        }
        for (MachineResult machine : machines) {
            String wrong = "WRONG on " + machine.summary().role();
            machine.programs().stream()
                    .filter(program -> !program.isRight())
                    .forEach(program ->
                            out.println(wrong + ": " + program.name() + ": " + program.problem()));
            if (!machine.constantProblem().isEmpty()) {
                out.println(wrong + ", with constant weights: " + machine.constantProblem());
            }
        }
    }
}
