package dev.granary.benchmarks.restore;

import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Report;
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

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
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
 * <p>The report has medians for three states of the JVM: the first round, in which it loads and
 * interprets most of the code; the rounds after it; and the last rounds, for which it has compiled
 * the code.
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
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of(
                "-cp",
                System.getProperty("java.class.path"),
                RestoreBenchmark.class.getName(),
                "--backend",
                backend));
        addOption(command, "--json", json().map(file -> file.toAbsolutePath().toString()));
        kernels.forEach(name -> addOption(command, "--kernel", Optional.of(name)));
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

    private static void addOption(List<String> command, String name, Optional<String> value) {
        value.ifPresent(given -> command.addAll(List.of(name, given)));
    }

    private void measure(KernelEngine engine, Optional<SpirvCompiler> frontEnd, String device)
            throws Exception {
        Optional<String> simulation = DriverVariables.simulationDigest();
        RestoreTurns turns = new RestoreTurns(engine, frontEnd, simulation);
        try (RestoreStores stores = new RestoreStores(parent(null), progress())) {
            Report report = report(Map.of(
                    "buildRounds", RestoreTurns.BUILD_ROUNDS,
                    "restoreRounds", RestoreTurns.RESTORE_ROUNDS));
            report.heading(heading(device, simulation.isPresent()));
            stores.say("building each program " + RestoreTurns.BUILD_ROUNDS + " times");
            try (Granary filler = stores.openForFilling()) {
                for (Program kernel : Programs.all()) {
                    if (kernels.isEmpty() || kernels.contains(kernel.name())) {
                        turns.build(kernel, filler);
                    }
                }
            }
            stores.say("restoring each program in " + RestoreTurns.RESTORE_ROUNDS + " rounds");
            try (Granary local = stores.openLocal();
                    Granary requiring = stores.openRequiring();
                    Granary remote = stores.openBucket();
                    BareObjectReader objects = stores.openBare()) {
                remote.connect();
                var caches = new RestoreTurns.Caches(local, requiring, remote, objects);
                for (int round = 0; round < RestoreTurns.RESTORE_ROUNDS; round++) {
                    turns.restore(round, caches);
                }
            }
            RestoreTables tables = new RestoreTables(turns.times());
            report.add(tables.programs(engine.target()));
            report.add(tables.totals());
        }
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
