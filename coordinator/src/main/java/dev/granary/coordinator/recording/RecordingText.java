package dev.granary.coordinator.recording;

import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlText;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The text of a recording: paragraphs that empty lines separate. A paragraph is a kernel, or a
 * comment. Additions leave all other text as it is, so that people may edit a recording. Not
 * thread-safe.
 */
final class RecordingText {
    /** The beginning of every recording, which distinguishes it from other manifests. */
    static final String MARK = "# Recorded by Granary";

    private static final String KERNEL = "[[kernel]]";
    private static final String NAME = "name = ";
    private static final String ENTRY = "entry = ";
    private static final String IDS = "target = [";
    private static final String LIST_END = "]";
    private static final String COMMENT = "#";

    private final List<String> paragraphs = new ArrayList<>();
    private final Set<String> comments = new HashSet<>();
    private final Set<String> names = new HashSet<>();
    // position in the paragraphs, by the lines that decide what is compiled
    private final Map<List<String>, Integer> kernels = new HashMap<>();

    /** Creates the text of an existing recording, or of a new one. */
    RecordingText(String existing, String directory) {
        if (existing.isBlank()) {
            paragraphs.add(MARK + ": the kernels that programs requested. Their sources are in\n# "
                    + SafeText.inOneLine(directory)
                    + ". Programs that record to this file add to it.");
            return;
        }
        for (String paragraph : existing.replace("\r\n", "\n").strip().split("\n{2,}")) {
            boolean isContinued = !paragraph.startsWith(KERNEL) && !paragraph.startsWith(COMMENT);
            if (isContinued && !paragraphs.isEmpty()) {
                // somebody has put an empty line into a kernel
                paragraphs.addLast(paragraphs.removeLast() + "\n\n" + paragraph);
            } else {
                paragraphs.add(paragraph);
            }
        }
        for (int i = 0; i < paragraphs.size(); i++) {
            String paragraph = paragraphs.get(i);
            comments.add(paragraph);
            if (paragraph.startsWith(KERNEL)) {
                kernels.putIfAbsent(inputs(paragraph.lines().toList()), i);
            }
        }
        // also of tables that people added
        existing.lines().map(RecordingText::nameIn).forEach(names::add);
    }

    /** Returns the lines of a kernel that decide what is compiled. */
    private static List<String> inputs(List<String> lines) {
        List<String> inputs = new ArrayList<>();
        boolean isInIds = false;
        for (String line : lines) {
            isInIds |= line.equals(IDS);
            if (!isInIds
                    && !line.isBlank()
                    && !line.equals(KERNEL)
                    && !line.startsWith(NAME)
                    && !line.startsWith(ENTRY)) {
                inputs.add(line);
            }
            isInIds &= !line.equals(LIST_END);
        }
        return inputs;
    }

    /**
     * Adds a kernel, or the id that an equal kernel lacks.
     *
     * @return 1, or 0 if the text has it
     */
    int add(KernelDescriptor kernel, SourceDirectory files) throws IOException {
        List<String> inputs = inputs(kernel, files);
        String id =
                kernel.getId().isEmpty() ? "" : "    " + RecordedId.of(kernel).toToml() + ",\n";
        Integer position = kernels.get(inputs);
        if (position != null) {
            String paragraph = paragraphs.get(position);
            if (paragraph.contains(id)) {
                return 0;
            }
            paragraphs.set(position, withId(paragraph, id));
            return 1;
        }
        // a manifest needs a name that is not blank
        String name = kernel.name().isBlank() ? "kernel" : kernel.name();
        List<String> lines = new ArrayList<>(List.of(KERNEL, NAME + newName(name)));
        if (!kernel.entries().isEmpty()) {
            lines.add(ENTRY + TomlText.strings(List.copyOf(kernel.entries())));
        }
        lines.addAll(inputs);
        kernels.put(inputs, paragraphs.size());
        paragraphs.add(withId(String.join("\n", lines), id));
        return 1;
    }

    /** Returns the lines that decide what is compiled: equal lines mean equal ids. */
    private static List<String> inputs(KernelDescriptor descriptor, SourceDirectory files)
            throws IOException {
        List<String> lines = new ArrayList<>();
        List<String> sources = new ArrayList<>();
        for (String source : descriptor.sources()) {
            sources.add(files.store(source, ".cl"));
        }
        if (descriptor.spirv().isPresent()) {
            sources.add(
                    files.store(descriptor.spirv().get().toArray(ValueLayout.JAVA_BYTE), ".spv"));
        }
        lines.add("source = " + TomlText.strings(sources));
        List<String> headers = new ArrayList<>();
        for (Map.Entry<String, String> header : descriptor.headers().entrySet()) {
            headers.add("{ path = " + TomlText.string(header.getKey()) + ", file = "
                    + TomlText.string(files.store(header.getValue(), ".h")) + " }");
        }
        lines.addAll(list("header", headers));
        if (!descriptor.includeDirectories().isEmpty()) {
            lines.add("include-directory = " + TomlText.strings(descriptor.includeDirectories()));
        }
        if (descriptor.isEveryFileListed()) {
            lines.add("every-file-listed = true");
        }
        if (!descriptor.optionTokens().isEmpty()) {
            lines.add(
                    "options = " + TomlText.string(BuildOptions.format(descriptor.optionTokens())));
        }
        lines.addAll(list(
                "launch",
                descriptor.announcedLaunches().stream()
                        .map(RecordingText::toToml)
                        .toList()));
        if (!descriptor.tag().isEmpty()) {
            lines.add("tag = " + TomlText.string(descriptor.tag()));
        }
        if (!descriptor.extraDigest().isEmpty()) {
            lines.add("extra-digest = " + TomlText.string(descriptor.extraDigest()));
        }
        return lines;
    }

    private static String toToml(Launch launch) {
        return "{ kernel = " + TomlText.string(launch.kernel())
                + ", global = " + launch.geometry().global()
                + (launch.geometry().local().isEmpty()
                        ? ""
                        : ", local = " + launch.geometry().local())
                + " }";
    }

    /** Returns a key with a list, one line for each item; no line for an empty list. */
    private static List<String> list(String key, List<String> items) {
        if (items.isEmpty()) {
            return List.of();
        }
        List<String> lines = new ArrayList<>(List.of(key + " = ["));
        items.forEach(item -> lines.add("    " + item + ","));
        lines.add("]");
        return lines;
    }

    private static String withId(String paragraph, String id) {
        String head = "\n" + IDS + "\n";
        int list = paragraph.indexOf(head);
        return list < 0
                ? paragraph + head + id + LIST_END
                : paragraph.substring(0, list + head.length())
                        + id
                        + paragraph.substring(list + head.length());
    }

    /** Returns the name as a TOML string, with a number behind it if it is taken. */
    private String newName(String name) {
        String quoted = TomlText.string(name);
        for (int number = 2; !names.add(quoted); number++) {
            quoted = TomlText.string(name + "-" + number);
        }
        return quoted;
    }

    /** Returns the name in a line as a basic string; blank if the line has none. */
    private static String nameIn(String line) {
        String[] parts = line.split("=", 2);
        if (parts.length < 2 || !parts[0].strip().equals("name")) {
            return "";
        }
        String value = parts[1].strip();
        return value.length() > 1 && value.startsWith("'") && value.endsWith("'")
                ? TomlText.string(value.substring(1, value.length() - 1))
                : value;
    }

    /** Adds a comment in one line, unless it is there already. */
    void comment(String text) {
        String comment = "# " + SafeText.inOneLine(text);
        if (comments.add(comment)) {
            paragraphs.add(comment);
        }
    }

    @Override
    public String toString() {
        return String.join("\n\n", paragraphs) + "\n";
    }
}
