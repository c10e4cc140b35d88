package dev.granary.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.coordinator.statistics.Counter;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Tests of the dashboard, the alerts and the queries in {@code docs/}. */
class DashboardTest {
    private static final Path DOCS = Path.of("..", "docs");
    private static final Pattern METRIC = Pattern.compile("\\bgranary_[a-z0-9_]+");
    private static final Pattern QUERY = Pattern.compile("\"expr\": (\".*\"),?\n");

    @ParameterizedTest
    @ValueSource(strings = {"grafana.json", "alerts.yaml", "operations.md"})
    @DisplayName("each metric that a file of docs/ names exists")
    void names(String file) throws Exception {
        Set<String> known = Arrays.stream(Counter.values())
                .map(Counter::prometheusName)
                .collect(Collectors.toCollection(TreeSet::new));
        known.addAll(List.of(
                "granary_layer_breaker",
                "granary_capacity_bytes",
                "granary_entries",
                "granary_entries_bytes",
                "granary_build_info"));
        List<String> unknown = METRIC.matcher(Files.readString(DOCS.resolve(file)))
                .results()
                .map(MatchResult::group)
                .filter(name -> !known.contains(name))
                .toList();
        assertEquals(List.of(), unknown);
    }

    @Test
    @DisplayName("promtool: the alerts fire for a fleet with faults, and not for a healthy one")
    void alerts() throws Exception {
        promtool("test", "rules", Path.of("src", "test", "resources", "alerts-test.yaml"));
    }

    @Test
    @DisplayName("promtool: Prometheus can parse each query of the dashboard")
    void queries(@TempDir Path directory) throws Exception {
        List<String> queries = QUERY.matcher(Files.readString(DOCS.resolve("grafana.json")))
                .results()
                .map(each -> each.group(1).replace("$__rate_interval", "5m"))
                .toList();
        assertFalse(queries.isEmpty());
        String rules = "groups:\n  - name: dashboard\n    rules:\n";
        for (int i = 0; i < queries.size(); i++) {
            rules += "      - {record: panel_" + i + ", expr: " + queries.get(i) + "}\n";
        }
        promtool("check", "rules", Files.writeString(directory.resolve("rules.yaml"), rules));
    }

    private static void promtool(String command, String of, Path file) throws Exception {
        assumeTrue(
                SystemTool.run("promtool", "--version"), "no promtool: apt-get install prometheus");
        Process process = new ProcessBuilder("promtool", command, of, file.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertEquals(0, process.waitFor(), output);
    }
}
