package dev.granary.coordinator.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Tests that the table of docs/configuration.md has the settings, and examples that are right. */
class ConfigurationPageTest {
    private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");

    /** Returns the columns of each row that has an environment variable. */
    private static List<List<String>> rows() throws Exception {
        return Files.readAllLines(Path.of("..", "docs", "configuration.md")).stream()
                .filter(line -> line.startsWith("| `"))
                .map(line -> List.of(line.split("\\|", -1)))
                .filter(columns -> columns.get(2).contains("`GRANARY_"))
                .filter(columns -> !columns.get(3).strip().equals("never")) // a secret
                .toList();
    }

    private static List<String> quoted(String column) {
        return QUOTED.matcher(column)
                .results()
                .map((MatchResult each) -> each.group(1))
                .toList();
    }

    @Test
    @DisplayName("one row for each setting, in their order, with variable and key")
    void settings() throws Exception {
        assertEquals(
                Setting.ALL.stream()
                        .map(setting -> List.of(setting.environment(), setting.key()))
                        .toList(),
                rows().stream()
                        .map(columns -> List.of(
                                quoted(columns.get(2)).getFirst(),
                                quoted(columns.get(3)).getFirst()))
                        .toList());
    }

    @Test
    @DisplayName("each default and example is accepted")
    void examples() throws Exception {
        for (int i = 0; i < Setting.ALL.size(); i++) {
            List<String> columns = rows().get(i);
            Setting<?> setting = Setting.ALL.get(i);
            List<String> examples = quoted(columns.get(5));
            assertFalse(examples.isEmpty(), setting::key);
            for (String example : examples) {
                setting.parse(example, setting.key());
            }
            boolean hasDefault = columns.get(4).strip().matches("`[^`]+`");
            if (hasDefault) {
                setting.parse(quoted(columns.get(4)).getFirst(), setting.key());
            }
        }
    }
}
