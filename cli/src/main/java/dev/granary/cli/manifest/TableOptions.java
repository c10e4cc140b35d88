package dev.granary.cli.manifest;

import dev.granary.coordinator.toml.TomlFile;
import dev.granary.gpu.BuildOptions;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The include directories and the build options of a table.
 *
 * @param includeDirectories the directories of {@code include}, then those of {@code -I} options
 * @param tokens the other options
 */
record TableOptions(List<Path> includeDirectories, List<String> tokens) {
    static TableOptions of(ManifestTable table) throws KernelManifestException {
        List<Path> directories = new ArrayList<>();
        for (String directory : table.texts("include")) {
            directories.add(table.path("include", directory));
        }
        List<String> tokens = new ArrayList<>();
        for (String option : parsed(table)) {
            if (option.startsWith("-I")) {
                directories.add(table.path("options", option.substring(2)));
            } else {
                tokens.add(option);
            }
        }
        return new TableOptions(directories, tokens);
    }

    private static List<String> parsed(ManifestTable table) throws KernelManifestException {
        String options = table.text("options");
        try {
            return options == null ? List.of() : BuildOptions.parse(options);
        } catch (IllegalArgumentException e) {
            throw table.error("options", TomlFile.harmless(String.valueOf(e.getMessage())));
        }
    }

    /** Returns these with the defaults added: default options come first, directories last. */
    TableOptions over(KernelDefaults defaults) {
        List<Path> directories = new ArrayList<>(includeDirectories);
        directories.addAll(defaults.includeDirectories());
        List<String> all = new ArrayList<>(defaults.options());
        all.addAll(tokens);
        return new TableOptions(directories, all);
    }

    /** Returns the number of directories and options. */
    int count() {
        return includeDirectories.size() + tokens.size();
    }
}
