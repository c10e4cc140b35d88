package dev.granary.it;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Tests of the package rules: no cycles, downward dependencies, and inner packages and libraries
 * only in their module.
 */
class ArchitectureTest {
    private static final String ROOT = "dev.granary";
    private static final Pattern OF_TESTS =
            Pattern.compile(".*(-tests\\.jar!|/test-classes|-test)/dev/granary/.*");
    private static final JavaClasses MAIN = new ClassFileImporter()
            .withImportOption(location -> !location.matches(OF_TESTS))
            .importPackages(ROOT);

    /** Returns the module of a class by its package. The demo counts as the command does. */
    private static String module(JavaClass type) {
        String name = type.getPackageName().substring(ROOT.length() + 1).split("\\.")[0];
        return name.equals("demo") ? "cli" : name;
    }

    private static void assertRule(ArchRule rule) {
        rule.allowEmptyShould(false).check(MAIN);
    }

    @Test
    @DisplayName("All modules are imported: a rule over no classes would pass")
    void allModules() {
        Map<String, Long> classes = MAIN.stream()
                .collect(Collectors.groupingBy(
                        ArchitectureTest::module, TreeMap::new, Collectors.counting()));
        assertEquals(
                List.of(
                        "cache",
                        "cli",
                        "coordinator",
                        "gpu",
                        "local",
                        "metrics",
                        "plans",
                        "s3",
                        "wrap"),
                List.copyOf(classes.keySet()));
        assertTrue(classes.values().stream().allMatch(count -> count > 2), classes::toString);
    }

    @Test
    @DisplayName("No package depends on itself transitively")
    void noCycles() {
        assertRule(slices().matching(ROOT + ".(**)").should().beFreeOfCycles());
    }

    @Test
    @DisplayName("Modules depend downward only")
    void downward() {
        assertRule(layeredArchitecture()
                .consideringOnlyDependenciesInLayers()
                .layer("cache")
                .definedBy(ROOT + ".cache..")
                .layer("local")
                .definedBy(ROOT + ".local..")
                .layer("s3")
                .definedBy(ROOT + ".s3..")
                .layer("gpu")
                .definedBy(ROOT + ".gpu..")
                .layer("coordinator")
                .definedBy(ROOT + ".coordinator..")
                .layer("plans")
                .definedBy(ROOT + ".plans..")
                .layer("wrap")
                .definedBy(ROOT + ".wrap..")
                .layer("metrics")
                .definedBy(ROOT + ".metrics..")
                .layer("cli")
                .definedBy(ROOT + ".cli..", ROOT + ".demo..")
                .whereLayer("cli")
                .mayNotBeAccessedByAnyLayer()
                .whereLayer("plans")
                .mayOnlyBeAccessedByLayers("cli")
                .whereLayer("wrap")
                .mayOnlyBeAccessedByLayers("cli")
                .whereLayer("metrics")
                .mayNotBeAccessedByAnyLayer()
                .whereLayer("coordinator")
                .mayOnlyBeAccessedByLayers("plans", "wrap", "metrics", "cli")
                .whereLayer("local")
                .mayOnlyBeAccessedByLayers("coordinator", "wrap", "cli")
                .whereLayer("s3")
                .mayOnlyBeAccessedByLayers("coordinator", "wrap", "cli")
                .whereLayer("gpu")
                .mayOnlyBeAccessedByLayers("coordinator", "plans", "cli"));
    }

    @Test
    @DisplayName("The coordinator uses no particular engine, so that programs with another one need"
            + " no LWJGL")
    void engines() {
        assertRule(noClasses()
                .that()
                .resideInAPackage(ROOT + ".coordinator..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(ROOT + ".gpu.opencl..", "org.lwjgl.."));
    }

    @Test
    @DisplayName("Each library is used only in its packages")
    void libraries() {
        Map<String, String[]> homes = Map.of(
                "org.lwjgl..", new String[] {ROOT + ".gpu.opencl.."},
                "software.amazon..", new String[] {ROOT + ".s3.."},
                "io.minio..", new String[] {ROOT + ".s3.."},
                "org.gaul..", new String[] {ROOT + ".s3.embedded.."},
                "com.esotericsoftware..", new String[] {ROOT + ".cache.format.."},
                "com.github.luben..", new String[] {ROOT + ".cache.format.."},
                "io.github.resilience4j..", new String[] {ROOT + ".s3.resilience.."},
                "picocli..", new String[] {ROOT + ".cli..", ROOT + ".demo.."},
                "com.google.gson..",
                        new String[] {
                            ROOT + ".cli.output..",
                            ROOT + ".demo..",
                            ROOT + ".s3",
                            ROOT + ".s3.probe..",
                            ROOT + ".s3.register..",
                            ROOT + ".s3.pack.format.."
                        });
        homes.forEach((library, packages) -> assertRule(classes()
                .that(describe(
                        "use " + library, type -> type.getDirectDependenciesFromSelf().stream()
                                .anyMatch(use -> use.getTargetClass()
                                        .getPackageName()
                                        .startsWith(library.substring(0, library.length() - 2)))))
                .should()
                .resideInAnyPackage(packages)));
    }
}
