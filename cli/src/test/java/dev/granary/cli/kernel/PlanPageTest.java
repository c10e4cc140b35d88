package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cli.Cli;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Tests that the page of plans has a plan that is valid, and the pictures of its plans. */
class PlanPageTest {
    private static final Path PAGE = Path.of("..", "docs", "plans.md");
    private static final Path PICTURES = Path.of("..", "docs", "pictures");

    @TempDir
    private Path directory;

    private static String fileOfPage() throws IOException {
        String page = Files.readString(PAGE);
        int start = page.indexOf("```toml\n") + "```toml\n".length();
        return page.substring(start, page.indexOf("```", start));
    }

    private void assertPicture(Path plan, String name) throws IOException {
        Path picture = directory.resolve(name);
        Cli.run("plan", plan.toString(), "--picture", picture.toString()).exits(0);
        assertEquals(Files.readString(PICTURES.resolve(name)), Files.readString(picture), name);
        assertTrue(Files.readString(PAGE).contains("](pictures/" + name + ")"), name);
    }

    @Test
    @DisplayName("docs/plans.md has a plan that the command reads, and its picture")
    void gemm() throws Exception {
        assertPicture(Files.writeString(directory.resolve("gemm.toml"), fileOfPage()), "gemm.svg");
    }

    @Test
    @DisplayName("docs/plans.md has the picture of the convolution beside it")
    void convolution() throws Exception {
        assertPicture(PICTURES.resolve("convolution.toml"), "convolution.svg");
    }
}
