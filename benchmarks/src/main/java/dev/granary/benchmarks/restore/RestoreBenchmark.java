package dev.granary.benchmarks.restore;

import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Report;
import dev.granary.benchmarks.restore.RestoreTimes.Phase;
import dev.granary.cache.Backend;
import dev.granary.cli.kernel.TemporaryDirectory;
import dev.granary.coordinator.Granary;
import dev.granary.demo.DriverVariables;
import dev.granary.demo.Program;
import dev.granary.demo.Programs;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroDevice;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.spirv.SpirvCompiler;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Benchmark of the ways to the programs of the demo, in one run: compiling from source, building
 * from SPIR-V, the driver's own restore from the same bytes in memory, the same after a read of the
 * entry's object by the bare S3 client, and lookups through all of Granary that hit the local tier
 * or the bucket. Each includes loading and, unless the device is simulated, the first launch of
 * every kernel.
 *
 * <p>The report has medians for three states of the JVM: the first rounds of several processes, in
 * which it loads and interprets most of the code; the rounds after the first; and the last rounds,
 * for which it has compiled the code.
 *
 * <p>The drivers' own caches must be off, since they would be measured instead: otherwise the
 * benchmark refuses to run.
 */
@Command(
        name = "restore",
        mixinStandardHelpOptions = true,
        description = "Compare compiling, the driver's restore and lookups in each tier.")
public final class RestoreBenchmark extends BenchmarkCommand {
    /**
     * The variables of a process without driver caches. With several threads that compile or take
     * binaries, PoCL 3.1 would abort.
     */
    static final Map<String, String> CACHES_OFF = Map.of(
            "POCL_KERNEL_CACHE", "0", "NEO_CACHE_PERSISTENT", "0", "CUDA_CACHE_DISABLE", "1");

    /** Number of times that each program is built. */
    static final int BUILD_ROUNDS = 3;

    /** Number of times that each program is restored in each way. */
    private static final int RESTORE_ROUNDS = Phase.WARM.to();

    private static final int USAGE = 2;

    @Option(
            names = "--backend",
            paramLabel = "opencl|level-zero",
            defaultValue = "opencl",
            description = "the driver's interface (default: ${DEFAULT-VALUE}); without a device of"
                    + " Level Zero, Intel's driver simulates one")
    private String backend = "opencl";

    @Option(
            names = "--kernel",
            paramLabel = "NAME",
            description = "only this program of the demo; may be given several times")
    private List<String> kernels = List.of();

    @Option(
            names = "--processes",
            paramLabel = "N",
            defaultValue = "7",
            description = "processes whose first rounds are measured; ${DEFAULT-VALUE}")
    private int processes;

    @Option(
            names = "--first-round",
            hidden = true,
            description = "write the times of one round to this file and end")
    private @Nullable Path firstRound;

    /** Runs the benchmark; takes some minutes. */
    public static void main(String[] arguments) {
        System.exit(line(new RestoreBenchmark()).execute(arguments));
    }

    @Override
    protected String goalsTitle() {
        return "goals";
    }

    @Override
    protected void measure() throws Exception {
        if (!backend.equals(Backend.OPENCL.path()) && !backend.equals(Backend.LEVEL_ZERO.path())) {
            throw wrong("--backend must be opencl or level-zero, not " + backend);
        }
        List<String> known = Programs.all().stream().map(Program::name).toList();
        if (!known.containsAll(kernels)) {
            throw wrong("--kernel must be one of " + String.join(", ", known));
        }
        requireAtLeast("--processes", processes, 1);
        for (Map.Entry<String, String> off : CACHES_OFF.entrySet()) {
            if (!off.getValue().equals(System.getenv(off.getKey()))) {
                throw wrong("Set " + off.getKey() + "=" + off.getValue()
                        + " in the environment: the driver's own cache would be measured");
            }
        }
        if (backend.equals(Backend.OPENCL.path())) {
            measureOpenCl();
        } else {
            measureLevelZero();
        }
    }

    private void measureOpenCl() throws Exception {
        OpenClDevice device =
                switch (OpenCl.probe()) {
                    case OpenCl.Probe.Found found
                    when !found.devices().isEmpty() -> found.devices().getFirst();
                    case OpenCl.Probe.Found _ ->
                        throw wrong("there is no OpenCL device; on Debian: apt-get install"
                                + " pocl-opencl-icd");
                    case OpenCl.Probe.Missing missing -> throw wrong(missing.cause());
                };
        try (OpenClEngine engine = OpenClEngine.open(device)) {
            measure(
                    engine,
                    device.intermediateLanguages().isEmpty() ? Optional.empty() : frontEnd(),
                    device.toString());
        }
    }

    private void measureLevelZero() throws Exception {
        switch (LevelZero.probe()) {
            case LevelZero.Probe.Found found
            when !found.devices().isEmpty() -> measure(found.devices().getFirst());
            case LevelZero.Probe.Found _ -> simulate("there is no device of Level Zero");
            case LevelZero.Probe.Missing missing -> simulate(missing.cause());
        }
    }

    private void measure(LevelZeroDevice device) throws Exception {
        try (LevelZeroEngine engine = LevelZeroEngine.open(device)) {
            measure(engine, frontEnd(), device.toString());
        }
    }

    private static Optional<SpirvCompiler> frontEnd() {
        return Optional.of(SpirvCompiler.onPath())
                .filter(found -> !(found.presence() instanceof SpirvCompiler.Presence.Absent));
    }

    /**
     * Runs the benchmark in a process for which Intel's driver simulates a device. It writes files
     * into the working directory of the process.
     */
    private void simulate(String cause) throws Exception {
        if (DriverVariables.simulationDigest().isPresent()) {
            throw wrong(cause);
        }
        progress().println("No device of Level Zero: Intel's driver simulates one ...");
        List<String> command = command();
        command.addAll(List.of("--processes", Integer.toString(processes)));
        json().ifPresent(file ->
                command.addAll(List.of("--json", file.toAbsolutePath().toString())));
        try (TemporaryDirectory directory = new TemporaryDirectory("granary-restore-")) {
            ProcessBuilder builder = new ProcessBuilder(command)
                    .directory(directory.path().toFile())
                    .inheritIO();
            builder.environment().putAll(DriverVariables.simulation(directory.path()));
            int exitCode = builder.start().waitFor();
            if (exitCode == USAGE) {
                throw wrong("the driver simulates no device either");
            }
            if (exitCode != 0) {
                throw new IllegalStateException("the process ended with " + exitCode);
            }
        }
    }

    /** Returns the command line of this benchmark for the same programs, in another process. */
    private List<String> command() {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of(
                "-cp",
                System.getProperty("java.class.path"),
                RestoreBenchmark.class.getName(),
                "--backend",
                backend));
        kernels.forEach(name -> command.addAll(List.of("--kernel", name)));
        return command;
    }

    private void measure(KernelEngine engine, Optional<SpirvCompiler> frontEnd, String device)
            throws Exception {
        Optional<String> simulation = DriverVariables.simulationDigest();
        if (firstRound != null) {
            write(firstRound, run(new RestoreTurns(engine, frontEnd, simulation, 0), 1));
            return;
        }
        Report report = report(Map.of(
                "processes", processes,
                "buildRounds", BUILD_ROUNDS,
                "restoreRounds", RESTORE_ROUNDS));
        report.heading(heading(device, simulation.isPresent()));
        Map<String, RestoreTimes> first = firstRounds();
        RestoreTables tables = new RestoreTables(
                first,
                run(new RestoreTurns(engine, frontEnd, simulation, BUILD_ROUNDS), RESTORE_ROUNDS));
        report.add(tables.programs(engine.target()));
        report.add(tables.totals());
    }

    /** Builds and restores the programs, and returns the times of each by its name. */
    private Map<String, RestoreTimes> run(RestoreTurns turns, int rounds) throws Exception {
        try (RestoreStores stores = new RestoreStores(
                parent(null),
                firstRound == null ? progress() : new PrintWriter(Writer.nullWriter()))) {
            stores.say("building each program");
            try (Granary filler = stores.openForFilling()) {
                for (Program kernel : Programs.all()) {
                    if (kernels.isEmpty() || kernels.contains(kernel.name())) {
                        turns.build(kernel, filler);
                    }
                }
            }
            stores.say("restoring each program, rounds: " + rounds);
            try (Granary local = stores.openLocal();
                    Granary requiring = stores.openRequiring();
                    Granary remote = stores.openBucket();
                    BareObjectReader objects = stores.openBare()) {
                remote.connect();
                var caches = new RestoreTurns.Caches(local, requiring, remote, objects);
                for (int round = 0; round < rounds; round++) {
                    turns.restore(round, caches);
                }
            }
        }
        return turns.times();
    }

    /**
     * Returns the times of the first round in several new processes. One process alone varies by a
     * third, since its round takes a tenth of a second.
     */
    private Map<String, RestoreTimes> firstRounds() throws Exception {
        Map<String, RestoreTimes> times = new LinkedHashMap<>();
        try (TemporaryDirectory directory = new TemporaryDirectory("granary-restore-")) {
            Path file = directory.path().resolve("first-round");
            for (int i = 1; i <= processes; i++) {
                progress().println("first round of process " + i + " of " + processes);
                List<String> command = command();
                command.addAll(List.of("--first-round", file.toString()));
                int exitCode = new ProcessBuilder(command).inheritIO().start().waitFor();
                if (exitCode != 0) {
                    throw new IllegalStateException("the process ended with " + exitCode);
                }
                for (String line : Files.readAllLines(file)) {
                    String[] cells = line.split(" ");
                    times.computeIfAbsent(cells[0], _ -> new RestoreTimes())
                            .record(RestoreWay.valueOf(cells[1]), Double.parseDouble(cells[2]));
                }
            }
        }
        return times;
    }

    /** Writes a line with program, way and milliseconds for each restore. */
    private static void write(Path file, Map<String, RestoreTimes> times) throws IOException {
        List<String> lines = new ArrayList<>();
        times.forEach((program, each) -> RestoreTurns.RESTORES.forEach(way ->
                each.of(way).forEach(millis -> lines.add(program + " " + way + " " + millis))));
        Files.write(file, lines);
    }

    private static String[] heading(String device, boolean isSimulated) {
        List<String> lines = new ArrayList<>(List.of(
                "Device: " + device + (isSimulated ? ", simulated" : "") + ".",
                "Lower caches off: " + CACHES_OFF + ". Bucket: an S3 server in this process.",
                isSimulated
                        ? "Milliseconds with loading; the device computes nothing, so nothing is"
                                + " launched."
                        : "Milliseconds with loading and the first launch of every kernel."));
        return lines.toArray(String[]::new);
    }
}
