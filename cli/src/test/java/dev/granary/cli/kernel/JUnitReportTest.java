package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cli.manifest.KernelSources;
import dev.granary.cli.output.Report;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

import javax.xml.parsers.DocumentBuilderFactory;

/** Tests of JUnit reports. */
class JUnitReportTest {
    private static KernelResult result(String name, String driver, Outcome outcome, String log) {
        return new KernelResult(
                name,
                new Target(Backend.OPENCL, "v", "d", driver),
                outcome,
                Optional.empty(),
                OptionalInt.empty(),
                Optional.empty(),
                Duration.ofMillis(1_034),
                Duration.ZERO,
                0,
                log.isEmpty() ? "" : "does not compile",
                log.isEmpty()
                        ? Optional.empty()
                        : Optional.of(
                                new BuildLog(log, new KernelSources(Path.of("k.cl"), Map.of()))));
    }

    @Test
    @DisplayName("a suite for each target, a case for each kernel; a failure has outcome,"
            + " message and log, whatever characters they have")
    void report(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("report.xml");
        JUnitReport.write(
                file,
                List.of(
                        result("a<b>&\"", "1", Outcome.COMPILED, ""),
                        result("broken\u0001", "1", Outcome.FAILED_TO_COMPILE, "1 < \u0000 ]]> 2"),
                        result("a<b>&\"", "2", Outcome.LOCAL, "")),
                new Report(
                        new PrintWriter(Writer.nullWriter()),
                        new PrintWriter(Writer.nullWriter()),
                        false));
        Document xml = DocumentBuilderFactory.newDefaultInstance()
                .newDocumentBuilder()
                .parse(file.toFile());
        assertEquals(2, xml.getElementsByTagName("testsuite").getLength());
        Element suite = (Element) xml.getElementsByTagName("testsuite").item(0);
        assertEquals("2", suite.getAttribute("tests"));
        assertEquals("1", suite.getAttribute("failures"));
        assertEquals("2.068", suite.getAttribute("time"));
        assertEquals(3, xml.getElementsByTagName("testcase").getLength());
        Element first = (Element) xml.getElementsByTagName("testcase").item(0);
        assertEquals("a<b>&\"", first.getAttribute("name"));
        assertEquals(suite.getAttribute("name"), first.getAttribute("classname"));
        assertEquals(1, xml.getElementsByTagName("failure").getLength());
        Element failure = (Element) xml.getElementsByTagName("failure").item(0);
        assertEquals("failed-to-compile", failure.getAttribute("type"));
        assertEquals("does not compile", failure.getAttribute("message"));
        assertEquals("does not compile\n1 < ? ]]> 2", failure.getTextContent());
    }
}
