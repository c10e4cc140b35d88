package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.module.ModuleDescriptor;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** Test of the API: the public types of the packages that the libraries export to everyone. */
class ExportsTest {
    private static final Set<String> PROGRAMS = Set.of("dev.granary.cli");
    private static final Path LIST = Path.of("src", "test", "resources", "api.txt");

    @Test
    @DisplayName("The exported types are those of api.txt, so each addition is a line of a diff")
    void exportedTypes() throws Exception {
        Set<String> exported =
                Collections.list(ExportsTest.class
                                .getClassLoader()
                                .getResources("module-info.class"))
                        .stream()
                        .map(ExportsTest::read)
                        .filter(module -> module.name().startsWith("dev.granary.")
                                && !PROGRAMS.contains(module.name()))
                        .flatMap(module -> module.exports().stream())
                        .filter(export -> !export.isQualified())
                        .map(ModuleDescriptor.Exports::source)
                        .collect(Collectors.toSet());
        List<String> types = new ClassFileImporter()
                        .withImportOption(location -> !location.matches(ArchitectureTest.OF_TESTS))
                        .importPackages("dev.granary")
                        .stream()
                        .filter(type -> exported.contains(type.getPackageName()))
                        .filter(JavaClass::isTopLevelClass)
                        .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                        .map(JavaClass::getName)
                        .sorted()
                        .toList();
        assertEquals(
                String.join("\n", Files.readAllLines(LIST)),
                String.join("\n", types),
                "it/" + LIST + " should list the exported types");
    }

    private static ModuleDescriptor read(URL moduleInfo) {
        try (InputStream in = moduleInfo.openStream()) {
            return ModuleDescriptor.read(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
