package dev.granary.demo;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.demo.MachineResult.ProgramResult;
import dev.granary.demo.MachineResult.Summary;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.List;

/** Tests of the report of the demo. */
class DemoReportTest {
    private static MachineResult machine(String role, String source, String problem) {
        return new MachineResult(
                new Summary(
                        role,
                        source.equals("compiled") ? 2 : 0,
                        source.equals("bucket") ? 2 : 0,
                        source.equals("local") ? 2 : 0,
                        2,
                        source,
                        source.equals("compiled") ? 60 : 0,
                        1,
                        3,
                        true,
                        2,
                        120),
                List.of(
                        new ProgramResult("saxpy", source, 2048, 20, problem),
                        new ProgramResult("plan-gemm-tuned", source, 4096, 100, "")),
                "a device",
                true,
                3,
                "");
    }

    private static String text(DemoReport report) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        report.printText(new PrintStream(out, true, UTF_8));
        return out.toString(UTF_8);
    }

    @Test
    @DisplayName("The text has a row for each program and machine, and says that all is right")
    void text() {
        String text = text(new DemoReport(List.of(
                machine("ci", "compiled", ""),
                machine("node", "bucket", ""),
                machine("laptop", "local", ""))));
        for (String row : List.of("saxpy", "total", "plan-gemm-tuned", "ci", "node", "laptop")) {
            assertTrue(text.lines().anyMatch(line -> line.startsWith(row + " ")), text);
        }
        assertTrue(text.stripTrailing().endsWith("every result is right."), text);
    }

    @Test
    @DisplayName("A wrong result, or a node that compiles, is no success, and the text says so")
    void failed() {
        DemoReport wrong = new DemoReport(List.of(
                machine("ci", "compiled", ""),
                machine("node", "bucket", "element 0"),
                machine("laptop", "local", "")));
        DemoReport compiled = new DemoReport(List.of(
                machine("ci", "compiled", ""),
                machine("node", "compiled", ""),
                machine("laptop", "local", "")));
        assertTrue(text(wrong).contains("WRONG on node: saxpy: element 0"), () -> text(wrong));
        for (DemoReport report : List.of(wrong, compiled)) {
            assertFalse(report.isSuccess());
            String text = text(report);
            assertTrue(text.contains("FAILED: node or laptop compiled or tuned something"), text);
            assertFalse(text.contains("every result is right."), text);
        }
    }
}
