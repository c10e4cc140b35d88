package dev.granary.cli.kernel;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSourceResolver;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.Device;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * {@code granary manifest}: shows the kernels of a manifest and what is wrong with them. Without a
 * device it checks the files, and the ids of a recording.
 */
@Command(
        description = {
            "Show the kernels of a manifest, with their ids for this machine's device if it has"
                    + " one, and what is wrong with their files and recorded ids.",
            "The exit code is 1 if a kernel has a problem, and 2 if MANIFEST is not a manifest."
        })
public final class ManifestCommand extends OutputCommand {
    private static final Target NO_DEVICE = new Target(Backend.OPENCL, "granary", "none", "none");

    @Parameters(paramLabel = "MANIFEST", description = "a recording or a kernel manifest")
    private Path manifest = Path.of("");

    @Mixin
    private DeviceOption device = new DeviceOption();

    private final List<String> problems = new ArrayList<>();
    private final Map<String, Id> ids = new LinkedHashMap<>(); // by kernel, without a device

    @Override
    protected boolean run(Report report) throws TomlException, ConfigException {
        List<KernelSpec> kernels = KernelManifest.read(manifest);
        Optional<Target> target = device.ifAny(DeviceSelection::one).map(Device::target);
        report.table("kernels", kernels)
                .column("~kernel", KernelSpec::name)
                .column("~sources", ManifestCommand::sources)
                .column("~options", kernel -> BuildOptions.format(kernel.options()))
                .column("~launches", KernelSpec::launches)
                .column("targets", ManifestCommand::targets)
                .column("<id", kernel -> id(kernel, target));
        int recorded =
                kernels.stream().mapToInt(kernel -> kernel.recordedIds().size()).sum();
        ids.forEach((kernel, id) -> UnstableInputs.add(kernel, id, report));
        problems.forEach(report::problem);
        report.line(Units.plural(kernels.size(), "kernel") + ", "
                + Units.plural(recorded, "recorded id") + ", "
                + Units.plural(problems.size(), "problem"));
        return problems.isEmpty();
    }

    private static Report.Shown sources(KernelSpec kernel) {
        return new Report.Shown(
                kernel.sources(),
                kernel.sources().stream()
                        .map(source -> String.valueOf(source.getFileName()))
                        .collect(Collectors.joining(", ")));
    }

    private static Report.Shown targets(KernelSpec kernel) {
        return new Report.Shown(
                kernel.recordedIds().stream()
                        .map(id -> Map.of("target", id.target().path(), "id", id.hash()))
                        .toList(),
                Units.count(kernel.recordedIds().size()));
    }

    /** Checks a kernel, and returns its id for a target; empty if it has none. */
    private Optional<Object> id(KernelSpec kernel, Optional<Target> target) {
        try {
            for (RecordedId id : kernel.recordedIds()) {
                Id computed = KernelSourceResolver.descriptor(kernel, id).getId();
                if (!computed.isEmpty() && !computed.hash().hex().equals(id.hash())) {
                    problem(
                            kernel,
                            "its id for " + id.target().name() + " is " + computed + ", but "
                                    + id.hash() + " was recorded: a file or a key was changed;"
                                    + " record it again, or remove this target");
                }
            }
            Id any = KernelSourceResolver.descriptor(kernel, NO_DEVICE).getId();
            if (any.isEmpty()) {
                problem(kernel, "it is not cacheable: " + any.reason());
            } else {
                ids.put(kernel.name(), any);
                if (target.isPresent()) {
                    return Optional.of(KernelSourceResolver.descriptor(kernel, target.get())
                            .getId()
                            .hash());
                }
            }
        } catch (IOException | RuntimeException e) { // such as an id that would be too long
            problem(kernel, String.valueOf(e.getMessage()));
        }
        return Optional.empty();
    }

    private void problem(KernelSpec kernel, String message) {
        problems.add(kernel.place() + ": kernel '" + SafeText.inOneLine(kernel.name()) + "': "
                + message);
    }

    /**
     * Search for build options and tags that probably differ with each machine or build, so that
     * their ids never hit again. Only what enters the id counts: not {@code -I/opt/include}, whose
     * directory the key names relative to the source.
     */
    static final class UnstableInputs {
        private static final Set<String> FIELDS = Set.of("option", "tag");

        /** A reason, with the texts that it is found by; the first one counts. */
        private enum Reason {
            UNIQUE_ID(
                    "a unique id",
                    "(?i)(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])"),
            TEMPORARY(
                    "the name of a temporary file or a process number",
                    "/tmp/|\\b(?:tmp|temp)[._-](?=\\w*\\d)\\w{6,}"
                            + "|\\btmp(?=[a-z0-9_]*\\d)[a-z0-9_]{6,10}\\b|\\bpid[=_.-]?\\d{2,}"),
            PATH(
                    "an absolute path",
                    "(?:^|(?<=[=\\s\"',;:(]))(?:/[A-Za-z_.][\\w.+-]*/|[A-Za-z]:[\\\\/]\\w)"),
            /** Years 2000 to 2099, or seconds and milliseconds since 1970 of 2017 to 2033. */
            TIME(
                    "a date or time",
                    "(?<![\\w.])20\\d\\d[-/.]?(?:0[1-9]|1[0-2])[-/.]?(?:0[1-9]|[12]\\d|3[01])"
                            + "(?:[T_-]?\\d{4,6}Z?)?(?![\\w.])"
                            + "|(?<!\\d)[0-2]\\d:[0-5]\\d:[0-5]\\d"
                            + "|(?<![\\w.])1[5-9]\\d{8}(?:\\d{3})?(?![\\w.])");

            private final String text;
            private final Pattern pattern;

            Reason(String text, String pattern) {
                this.text = text;
                this.pattern = Pattern.compile(pattern);
            }
        }

        private UnstableInputs() {}

        /** Adds a line for each suspicious option or tag of a kernel to a report. */
        static void add(String kernel, Id id, Report report) {
            if (!id.isEmpty()) {
                for (Id.Field field : id.fields()) {
                    reason(field).ifPresent(reason -> add(kernel, field, reason, report));
                }
            }
        }

        private static void add(String kernel, Id.Field field, String reason, Report report) {
            report.part("unstableInputs")
                    .data("kernel", kernel)
                    .data("field", field.name())
                    .data("value", field.text())
                    .data("reason", reason)
                    .line("note: kernel '" + SafeText.inOneLine(kernel) + "': the " + field.name()
                            + " "
                            + SafeText.inOneLine(field.text()) + " has " + reason
                            + "; if it varies, its entries are never found again");
        }

        static Optional<String> reason(Id.Field field) {
            return FIELDS.contains(field.name())
                    ? Arrays.stream(Reason.values())
                            .filter(each -> each.pattern.matcher(field.text()).find())
                            .map(each -> each.text)
                            .findFirst()
                    : Optional.empty();
        }
    }
}
