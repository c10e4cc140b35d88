package dev.granary.cli.kernel;

import dev.granary.cli.output.Report;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/**
 * Report of kernels in JUnit's format, which CI servers show: a suite for each target, and a test
 * case for each kernel.
 */
final class JUnitReport {
    /** Characters that XML excludes, even escaped. */
    private static final String NOT_XML =
            "[^\\t\\n\\r\\x20-\\x{D7FF}\\x{E000}-\\x{FFFD}\\x{10000}-\\x{10FFFF}]";

    private final XMLStreamWriter xml;

    private JUnitReport(XMLStreamWriter xml) {
        this.xml = xml;
    }

    /** Writes the report. Returns false, after reporting the cause, if it cannot be written. */
    static boolean write(Path file, List<KernelResult> results, Report report) {
        try (OutputStream out = Files.newOutputStream(file)) {
            XMLStreamWriter xml =
                    XMLOutputFactory.newDefaultFactory().createXMLStreamWriter(out, "UTF-8");
            new JUnitReport(xml).write(results);
            xml.close();
            return true;
        } catch (IOException | XMLStreamException e) {
            report.problem("the JUnit report cannot be written: " + e);
            return false;
        }
    }

    private void write(List<KernelResult> results) throws XMLStreamException {
        Map<String, List<KernelResult>> suites = results.stream()
                .collect(Collectors.groupingBy(
                        result -> result.target().path(), LinkedHashMap::new, Collectors.toList()));
        xml.writeStartDocument("UTF-8", "1.0");
        start("testsuites", "name", "granary populate");
        for (Map.Entry<String, List<KernelResult>> suite : suites.entrySet()) {
            Duration took = suite.getValue().stream()
                    .map(KernelResult::took)
                    .reduce(Duration.ZERO, Duration::plus);
            long failures = suite.getValue().stream()
                    .filter(result -> !result.outcome().isSuccess())
                    .count();
            String tests = String.valueOf(suite.getValue().size());
            start("testsuite", "name", suite.getKey(), "tests", tests);
            attributes("failures", String.valueOf(failures), "time", seconds(took));
            for (KernelResult result : suite.getValue()) {
                write(result);
            }
            xml.writeEndElement();
        }
        xml.writeEndElement();
        xml.writeEndDocument();
    }

    private void write(KernelResult result) throws XMLStreamException {
        start("testcase", "classname", result.target().path(), "name", result.name());
        attributes("time", seconds(result.took()));
        if (!result.outcome().isSuccess()) {
            start("failure", "type", result.outcome().toString(), "message", result.failure());
            xml.writeCharacters(valid(result.text(Integer.MAX_VALUE)));
            xml.writeEndElement();
        }
        xml.writeEndElement();
    }

    private void start(String element, String... attributes) throws XMLStreamException {
        xml.writeCharacters("\n");
        xml.writeStartElement(element);
        attributes(attributes);
    }

    /** Writes attributes of the last started element: names and values in turns. */
    private void attributes(String... namesAndValues) throws XMLStreamException {
        for (int i = 0; i < namesAndValues.length; i += 2) {
            xml.writeAttribute(namesAndValues[i], valid(namesAndValues[i + 1]));
        }
    }

    private static String valid(String text) {
        return text.replaceAll(NOT_XML, "?");
    }

    private static String seconds(Duration time) {
        return String.format(Locale.ROOT, "%.3f", time.toMillis() / 1e3);
    }
}
