package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Test of the pages: each test that one names is in the tree. */
class NamedTestsTest {
    private static final Path TREE = Path.of("..");

    /** {@code ATest}, {@code ATest.method}, or {@code .method} of the class named before. */
    private static final Pattern NAMED =
            Pattern.compile("`([A-Z]\\w*)?(?:\\.([a-z]\\w*))?(?:\\(.*\\))?`");

    @Test
    @DisplayName("a page names only tests that exist, by class and method")
    void namedTests() throws IOException {
        Map<String, String> sources = sources();
        List<String> lost = new ArrayList<>();
        int named = 0;
        try (Stream<Path> pages = Files.walk(TREE.resolve("docs"))) {
            for (Path page :
                    pages.filter(each -> each.toString().endsWith(".md")).toList()) {
                String type = "";
                for (MatchResult each :
                        NAMED.matcher(Files.readString(page)).results().toList()) {
                    type = each.group(1) == null ? type : each.group(1);
                    String method = each.group(2);
                    if (!type.matches("\\w+(Test|Contract)")
                            || (each.group(1) == null && method == null)) {
                        continue;
                    }
                    named++;
                    String source = sources.getOrDefault(type, "");
                    boolean isThere = method == null
                            ? !source.isEmpty()
                            : Pattern.compile("\\b" + method + "\\(")
                                    .matcher(source)
                                    .find();
                    if (!isThere) {
                        lost.add(page.getFileName() + ": " + type
                                + (method == null ? "" : "." + method));
                    }
                }
            }
        }
        assertEquals(List.of(), lost);
        assertTrue(named > 300, "only " + named + " were found");
    }

    private static Map<String, String> sources() throws IOException {
        Map<String, String> sources = new HashMap<>();
        Files.walkFileTree(TREE, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(
                    Path directory, BasicFileAttributes attributes) {
                return List.of("target", ".git", "main")
                                .contains(directory.getFileName().toString())
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                    throws IOException {
                String name = file.getFileName().toString();
                if (name.endsWith(".java")) {
                    sources.put(
                            name.substring(0, name.length() - ".java".length()),
                            Files.readString(file));
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return sources;
    }
}
