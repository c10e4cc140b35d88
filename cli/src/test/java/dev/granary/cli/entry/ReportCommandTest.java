package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.Cli;
import dev.granary.coordinator.TestFleet;
import dev.granary.s3.UseNotes.UseNote;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.net.URLDecoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Tests of the report of a fleet, in a browser if this machine has Chromium. */
class ReportCommandTest {
    private static final int CHARTS = 4;
    private static final Pattern RESULT = Pattern.compile("data-result=\"([^\"]*)\"");

    /** Collects errors, and at the end what the page shows; in the place of the title element. */
    private static final String PROBE = """
            <script>
            const errors = [];
            addEventListener("error", event => errors.push(event.message));
            addEventListener("securitypolicyviolation", event => errors.push(event.blockedURI));
            addEventListener("load", () => {
              const boxes = [...document.querySelectorAll("canvas")].map(canvas => {
                const box = canvas.getBoundingClientRect();
                const pixels = canvas.getContext("2d")
                    .getImageData(0, 0, canvas.width, canvas.height).data;
                return {width: box.width, height: box.height, right: box.right,
                    label: canvas.getAttribute("aria-label"),
                    drawn: pixels.filter((value, i) => i % 4 == 3 && value > 200).length};
              });
              document.body.dataset.result = encodeURIComponent(JSON.stringify({errors, boxes,
                  width: innerWidth, page: document.documentElement.scrollWidth,
                  requests: performance.getEntriesByType("resource").length,
                  title: document.title, text: document.querySelector("main").innerText,
                  dark: matchMedia("(prefers-color-scheme: dark)").matches}));
            });
            </script>
            """;

    @TempDir
    private static Path directory;

    private static Path page = Path.of("");

    @BeforeAll
    static void write() throws Exception {
        LocalDate today = LocalDate.now(ZoneOffset.UTC);
        TestEntries entries = new TestEntries("ReportCommandTest");
        try (TestFleet fleet = new TestFleet(directory)) {
            fleet.publish(Stream.generate(() -> entries.entry(3000)).limit(40).toList());
            fleet.publish(List.of(TestEntries.entry(
                    Id.builder(TestEntries.OTHER_TARGET).field("test", "other").build(),
                    KernelBinaries.of(new byte[90_000]))));
            for (int day = 0; day < 13; day++) {
                for (int machine = 0; machine < 5 + day % 4 && day != 4; machine++) {
                    fleet.note(new UseNote(
                            today.minusDays(day),
                            "000000000000000" + machine,
                            new TreeMap<>(Map.of(
                                    TestFleet.NAMESPACE,
                                    LongStream.range(machine, 40).toArray())),
                            Map.of(
                                    "local-hits", 180 + 20L * machine,
                                    "layer-hits", 40L,
                                    "compiled", 3L + day % 5,
                                    "layer-unavailable", 2L,
                                    "saved-millis", 900_000 + 100_000L * day)));
                }
            }
            page = directory.resolve("report.html");
            Cli.run(
                            "report",
                            page.toString(),
                            "s3://kernels/ci",
                            "--days",
                            "14",
                            "--endpoint",
                            fleet.endpoint())
                    .exits(0)
                    .prints("nodes      8");
            Cli.run(
                            "report",
                            directory.toString(),
                            "s3://kernels/ci",
                            "--endpoint",
                            fleet.endpoint())
                    .exits(1)
                    .reports("the report cannot be written");
        }
    }

    /** Shows another page in a browser, and returns what it shows. */
    private static JsonObject shown(String html, int width, boolean isDark) throws Exception {
        Optional<Path> chromium = Stream.of("/usr/bin/chromium", "/usr/bin/google-chrome")
                .map(Path::of)
                .filter(Files::isExecutable)
                .findFirst();
        assumeTrue(chromium.isPresent(), "Chromium is not installed (package chromium)");
        Path probed = directory.resolve("probed.html");
        Files.writeString(probed, html.replace("<title>", PROBE + "<title>"));
        List<String> command = new ArrayList<>(List.of(
                chromium.get().toString(),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--hide-scrollbars",
                "--force-device-scale-factor=1",
                "--user-data-dir=" + directory.resolve("profile"),
                "--window-size=" + width + ",1900",
                "--blink-settings=preferredColorScheme=" + (isDark ? 0 : 1)));
        Path output = directory.resolve("dom.html");
        String pictures = System.getProperty("granary.report.pictures");
        if (pictures != null) {
            List<String> picture = new ArrayList<>(command);
            picture.add("--screenshot=" + pictures + "/" + width + (isDark ? "-dark" : "-light")
                    + ".png");
            picture.add(page.toUri().toString());
            run(picture, output);
        }
        command.addAll(List.of("--dump-dom", probed.toUri().toString()));
        run(command, output);
        Matcher result = RESULT.matcher(Files.readString(output));
        assertTrue(result.find(), () -> "no result of the page");
        return JsonParser.parseString(URLDecoder.decode(result.group(1), UTF_8)).getAsJsonObject();
    }

    private static void run(List<String> command, Path output) throws Exception {
        Process process = new ProcessBuilder(command)
                .redirectOutput(output.toFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        assertTrue(process.waitFor(2, TimeUnit.MINUTES), "Chromium does not end");
    }

    @ParameterizedTest
    @CsvSource({"1280, false", "1280, true", "390, false", "390, true"})
    @DisplayName("a browser shows all charts on a wide and a narrow screen, light and dark, without"
            + " an error and without a request")
    void inBrowser(int width, boolean isDark) throws Exception {
        JsonObject shown = shown(Files.readString(page), width, isDark);
        assertEquals("[]", shown.get("errors").toString());
        assertEquals(0, shown.get("requests").getAsInt());
        assertEquals(isDark, shown.get("dark").getAsBoolean());
        assertEquals("Granary: s3://kernels/ci", shown.get("title").getAsString());
        int inner = shown.get("width").getAsInt();
        assertTrue(shown.get("page").getAsInt() <= inner, shown::toString);
        JsonArray boxes = shown.getAsJsonArray("boxes");
        assertEquals(CHARTS, boxes.size());
        boxes.forEach(each -> {
            JsonObject box = each.getAsJsonObject();
            assertTrue(box.get("width").getAsDouble() > 250, box::toString);
            assertTrue(box.get("height").getAsDouble() > 100, box::toString);
            assertTrue(box.get("right").getAsDouble() <= inner, box::toString);
            assertTrue(box.get("drawn").getAsInt() > 1000, box::toString);
            assertTrue(box.get("label").getAsString().contains(": "), box::toString);
        });
        String text = shown.get("text").getAsString();
        for (String part : List.of("97.", "no", "By target", TestFleet.NAMESPACE, "unavailable")) {
            assertTrue(text.contains(part), text);
        }
    }

    @Test
    @DisplayName("a foreign name is text in the page, and no markup")
    void foreignNames() throws Exception {
        String name = "</script><img src=x onerror=alert(1)>";
        String data = new Gson().toJson(name);
        assertFalse(data.contains("<"), data);
        String html = Files.readString(page).replace("\"Granary: s3://kernels/ci\"", data);
        JsonObject shown = shown(html, 1280, false);
        assertEquals(name, shown.get("title").getAsString());
        assertEquals("[]", shown.get("errors").toString());
        assertTrue(shown.get("text").getAsString().contains(name));
    }

    @Test
    @DisplayName("the page names no other resource, and holds its charts")
    void selfContained() throws Exception {
        String html = Files.readString(page);
        assertFalse(html.contains("/*CHARTS*/") || html.contains("/*DATA*/"));
        assertFalse(html.contains("sourceMappingURL"));
        assertFalse(Pattern.compile("(src|href)=")
                .matcher(html.replaceAll("(?s)<script>.*?</script>", ""))
                .find());
        assertTrue(html.contains("Content-Security-Policy"));
    }

    @Test
    @DisplayName("a report that cannot be written, or has no bucket, fails with the cause")
    void failures() throws Exception {
        Cli.run("report", directory.toString(), "--dir", directory.resolve("d").toString())
                .exits(2)
                .reports("No bucket is configured");
        Cli.run("report", "x.html", "s3://kernels", "--days", "999").exits(2);
        Cli.run("report").exits(2);
    }
}
