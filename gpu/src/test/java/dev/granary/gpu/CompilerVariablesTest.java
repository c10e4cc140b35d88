package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Tests of the table of variables: against its page, and of what it makes of an environment. */
class CompilerVariablesTest {
    private static final Path PAGE = Path.of("../docs/operations.md");
    private static final Pattern PREFIX = Pattern.compile("`([A-Za-z0-9_]+)\\*`");

    @ParameterizedTest
    @EnumSource
    @DisplayName("docs/operations.md has the prefixes of each driver")
    void page(CompilerVariables variables) throws Exception {
        List<String> cells = Files.readAllLines(PAGE).stream()
                .map(line -> line.split("\\|", -1))
                .map(Arrays::asList)
                .filter(row -> row.size() > 2 && row.get(2).startsWith(" `"))
                .filter(row -> row.get(1).strip().equalsIgnoreCase(variables.name()))
                .findFirst()
                .orElseThrow();
        assertEquals(
                Set.copyOf(variables.prefixes()),
                PREFIX.matcher(cells.get(2))
                        .results()
                        .map(match -> match.group(1))
                        .collect(Collectors.toSet()));
        assertFalse(cells.get(4).isBlank(), "the source");
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("a harmless variable has a prefix of its driver, and counts for no other one")
    void harmless(CompilerVariables variables) {
        for (String name : variables.harmless()) {
            assertTrue(variables.prefixes().stream().anyMatch(name::startsWith), name);
            for (CompilerVariables any : CompilerVariables.values()) {
                assertFalse(any.counts(name), name);
            }
        }
        variables.prefixes().forEach(prefix -> assertTrue(variables.counts(prefix + "X")));
    }

    @Test
    @DisplayName("a known driver has its own variables in both backends, another one all")
    void families() {
        Map<String, String> environment = new HashMap<>(Map.of("PATH", "/bin"));
        for (CompilerVariables variables : CompilerVariables.values()) {
            environment.put(variables.prefixes().getFirst() + "X", "1");
        }
        for (Backend backend : Backend.OWN) {
            assertEquals(
                    Set.of("IGC_X"),
                    CompilerEnvironment.of(
                                    new Target(backend, "intel", "GPU id 0x9a49", "1"), environment)
                            .variables()
                            .keySet());
        }
        assertEquals(
                CompilerVariables.values().length,
                CompilerEnvironment.of(
                                new Target(Backend.OPENCL, "another", "device", "1"), environment)
                        .variables()
                        .size());
    }
}
