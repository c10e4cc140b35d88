package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.module.ModuleDescriptor;
import java.lang.reflect.AccessFlag;
import java.net.JarURLConnection;
import java.net.URI;
import java.net.URL;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/** Test of the API: the public types of the packages that the libraries export to everyone. */
class ExportsTest {
    private static final Set<String> PROGRAMS = Set.of("dev.granary.cli");
    private static final Path LIST = Path.of("src", "test", "resources", "api.txt");

    @Test
    @DisplayName("The exported types are those of api.txt, so each addition is a line of a diff")
    void exportedTypes() throws Exception {
        List<String> types = new ArrayList<>();
        for (URL moduleInfo : Collections.list(
                ExportsTest.class.getClassLoader().getResources("module-info.class"))) {
            ModuleDescriptor module = read(moduleInfo);
            if (module.name().startsWith("dev.granary.") && !PROGRAMS.contains(module.name())) {
                types.addAll(exportedTypes(module, moduleInfo));
            }
        }
        assertEquals(
                String.join("\n", Files.readAllLines(LIST)),
                types.stream().sorted().collect(Collectors.joining("\n")),
                "it/" + LIST + " should list the exported types");
    }

    private static ModuleDescriptor read(URL moduleInfo) throws IOException {
        try (InputStream in = moduleInfo.openStream()) {
            return ModuleDescriptor.read(in);
        }
    }

    /** Returns the public types of the packages that a module exports to everyone. */
    private static List<String> exportedTypes(ModuleDescriptor module, URL moduleInfo)
            throws Exception {
        if (moduleInfo.getProtocol().equals("file")) {
            Path directory = Objects.requireNonNull(Path.of(moduleInfo.toURI()).getParent());
            return exportedTypes(module, directory);
        }
        URI jar =
                ((JarURLConnection) moduleInfo.openConnection()).getJarFileURL().toURI();
        try (FileSystem content = FileSystems.newFileSystem(Path.of(jar))) {
            return exportedTypes(module, content.getPath("/"));
        }
    }

    private static List<String> exportedTypes(ModuleDescriptor module, Path root)
            throws IOException {
        List<String> types = new ArrayList<>();
        for (ModuleDescriptor.Exports export : module.exports()) {
            if (export.isQualified()) {
                continue;
            }
            try (DirectoryStream<Path> files = Files.newDirectoryStream(
                    root.resolve(export.source().replace('.', '/')), "*.class")) {
                for (Path file : files) {
                    String name = String.valueOf(file.getFileName()).replace(".class", "");
                    if (!name.contains("$")
                            && ClassFile.of().parse(file).flags().has(AccessFlag.PUBLIC)) {
                        types.add(export.source() + "." + name);
                    }
                }
            }
        }
        return types;
    }
}
