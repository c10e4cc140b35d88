package dev.granary.cli.entry;

import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.wrap.Wrap;
import dev.granary.wrap.WrapResult;
import dev.granary.wrap.WrapResult.ToolResult;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** {@code granary wrap}: runs a program with the kernels that its tools have cached elsewhere. */
@Command(
        description = "Run PROGRAM with the compiled kernels that other machines have published,"
                + " and publish those that it adds. Its exit code is that of the program.")
public final class WrapCommand extends OutputCommand {
    @Option(
            names = "--tool",
            paramLabel = "NAME",
            description = "a driver or framework of the program, such as pocl, triton or jax;"
                    + " may be given several times")
    private List<String> tools = List.of();

    @Option(
            names = "--dir",
            paramLabel = "NAME=PATH",
            description = "the directory of a tool, or of any program under a name of your choice")
    private Map<String, String> directories = new LinkedHashMap<>();

    @Option(
            names = "--scope",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "share only with runs that have the same text, such as a version")
    private String scope = "";

    @Option(names = "--read-only", description = "publish nothing")
    private boolean isReadOnly;

    @Option(
            names = "--wait",
            paramLabel = "SECONDS",
            defaultValue = "30",
            description = "the longest wait for the buckets before the start, and after the end"
                    + " (default: ${DEFAULT-VALUE})")
    private int wait;

    @Option(
            names = "--every",
            paramLabel = "SECONDS",
            defaultValue = "60",
            description = "look for new files while the program runs; 0: only after its end"
                    + " (default: ${DEFAULT-VALUE})")
    private int every;

    @Option(
            names = "--explain",
            description = "print what machines that share these files have in common, and end")
    private boolean isExplaining;

    @Option(
            names = "--bucket",
            paramLabel = "s3://NAME/PREFIX",
            description = "the shared bucket (GRANARY_BUCKET); may be given several times")
    private List<String> buckets = List.of();

    @Mixin
    private StoreOptions.Buckets settings = new StoreOptions.Buckets();

    @Parameters(paramLabel = "PROGRAM", arity = "0..*", description = "the program, arguments")
    private List<String> program = List.of();

    @Override
    public Integer call() throws Exception {
        if (isExplaining) {
            return super.call();
        }
        WrapResult result = wrap().run(program);
        // the standard output is the program's
        Report report = new Report(err(), err(), isJson());
        result.tools().forEach(tool -> add(tool, report));
        result.failures().forEach((place, cause) -> report.problem(place + ": " + cause));
        report.data("exitCode", result.exitCode()).print();
        return result.exitCode();
    }

    @Override
    protected boolean run(Report report) throws Exception {
        for (Wrap.ToolScope each : wrap().scopes()) {
            Report part = report.part("scopes")
                    .field("tool", each.tool())
                    .field("directory", each.directory().toString())
                    .field("namespace", each.namespace());
            each.facts().forEach(part::text);
            part.data("facts", each.facts()).line("");
        }
        return true;
    }

    private Wrap wrap() throws ConfigException {
        if (program.isEmpty() != isExplaining) {
            throw new ConfigException("Give either --explain or a program: granary wrap --tool NAME"
                    + " -- PROGRAM ARGUMENT...");
        }
        if (wait < 0 || every < 0) {
            throw new ConfigException("--wait and --every are numbers of seconds, 0 or more");
        }
        GranaryConfigBuilder stores = GranaryConfig.builder();
        for (String bucket : buckets) {
            stores.bucket(bucket);
        }
        return new Wrap(
                settings.set(stores).claimWait(Duration.ZERO).primitiveCacheCapacity(0),
                tools,
                directories,
                scope,
                isReadOnly,
                Duration.ofSeconds(wait),
                Duration.ofSeconds(every));
    }

    private static void add(ToolResult tool, Report report) {
        Optional<Integer> opened = tool.opened();
        boolean isInert =
                tool.fetched() > 0 && opened.filter(count -> count == 0).isPresent();
        report.part("tools")
                .data("tool", tool.tool())
                .data("directory", tool.directory())
                .data("namespace", tool.namespace())
                .data("fetched", tool.fetched())
                .data("fetchedBytes", tool.fetchedBytes())
                .data("opened", opened)
                .data("written", tool.written())
                .data("published", tool.published())
                .data("skipped", tool.skipped())
                .line("granary: " + tool.tool() + ": fetched "
                        + Units.plural(tool.fetched(), "file")
                        + (tool.fetched() == 0 ? "" : ", " + Units.bytes(tool.fetchedBytes()))
                        + "; the program "
                        + opened.map(count ->
                                        "opened " + (count == 0 ? "none" : count) + " of them, ")
                                .orElse("")
                        + "wrote " + tool.written() + " new, "
                        + tool.published() + " published");
        if (isInert) {
            report.problem(tool.tool() + ": nothing that was fetched was used: the scope may miss"
                    + " something; --explain shows it");
        }
        tool.skipped()
                .forEach((cause, count) -> report.problem(
                        tool.tool() + ": " + Units.plural(count, "file") + " left out: " + cause));
    }
}
