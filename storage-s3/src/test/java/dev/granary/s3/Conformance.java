package dev.granary.s3;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Deviation;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.store.ObjectStore;

import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs the object store suite against the S3 server of {@link TestS3} through both clients, and
 * prints the result of each check. The exit code is 0 only if nothing failed.
 */
final class Conformance {
    private static final String AWS = "aws";
    private static final String MINIO = "minio";
    private static final String SERVER = "server";
    private static final int NAME_WIDTH = 58; // two columns, 80 characters in total

    private final ConformanceResults results = new ConformanceResults();
    private final PrintStream out;

    private Conformance(PrintStream out) {
        this.out = out;
    }

    /** Runs the suite, or with {@code --races ROUNDS} that many races of each kind. */
    public static void main(String[] arguments) throws Exception {
        boolean races = arguments.length == 2
                && arguments[0].equals("--races")
                && arguments[1].matches("[1-9][0-9]{0,5}");
        if (!races && arguments.length > 0) {
            System.err.println(
                    "granary: usage: ./granary conformance [--races ROUNDS]; the server is"
                            + " GRANARY_TEST_S3_ENDPOINT's, see docs/bucket.md");
            System.exit(2);
        }
        TestS3 server = TestS3.server();
        if (races) {
            race(server, Integer.parseInt(arguments[1]));
            System.exit(0);
        }
        Conformance conformance = new Conformance(System.out);
        conformance.run(AWS, AwsTransportTest.class);
        conformance.run(MINIO, MinioTransportTest.class);
        conformance.run(SERVER, ServerFactsTest.class);
        // the embedded server's threads would keep the process alive
        System.exit(conformance.print(server) ? 0 : 1);
    }

    private static void race(TestS3 server, int rounds) throws Exception {
        System.out.println(rounds + " races of 32 concurrent writers for one key, of each kind:");
        for (S3ClientLibrary client : S3ClientLibrary.values()) {
            S3Config config = server.config().client(client).build();
            try (ObjectStore store = ObjectStoreFactory.open(config)) {
                String prefix = config.location().prefix() + "/";
                System.out.println(
                        client + " create: " + new WriteRaceReport(store, prefix).create(rounds));
                System.out.println(
                        client + " replace: " + new WriteRaceReport(store, prefix).replace(rounds));
            }
        }
    }

    private void run(String column, Class<?> suite) {
        results.begin(column);
        LauncherFactory.create()
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(DiscoverySelectors.selectClass(suite))
                                .build(),
                        results);
    }

    private boolean print(TestS3 server) {
        out.println();
        block("as an object store", List.of(AWS, MINIO));
        block("the server itself", List.of(SERVER));
        if (!results.deviations().isEmpty()) {
            out.println("Known deviations, each confirmed by a check:");
            results.deviations().stream()
                    .map(Deviation::text)
                    .forEach(text -> out.println("  " + text));
        }
        List<String> failures = results.failures();
        if (!failures.isEmpty()) {
            out.println("Failures:");
            failures.forEach(failure -> out.println("  " + failure));
            if (server.deviations().isEmpty()) {
                out.println(
                        "If the deviations of the server are known, GRANARY_TEST_S3_SERVER names"
                                + " it: see docs/bucket.md");
            }
        }
        return failures.isEmpty();
    }

    private void block(String title, List<String> columns) {
        line(title, columns);
        for (String check : results.checks(columns)) {
            List<String> parts = wrapped(check);
            for (String part : parts.subList(0, parts.size() - 1)) {
                out.println(part);
            }
            line(
                    parts.getLast(),
                    columns.stream().map(column -> results.word(check, column)).toList());
        }
        out.println();
    }

    private void line(String name, List<String> cells) {
        StringBuilder line = new StringBuilder(("%-" + NAME_WIDTH + "s").formatted(name));
        cells.forEach(cell -> line.append("  %-8s".formatted(cell)));
        out.println(line.toString().stripTrailing());
    }

    /** Wraps the text to the first column; further lines are indented. */
    private static List<String> wrapped(String text) {
        List<String> lines = new ArrayList<>();
        String rest = text;
        while (rest.length() > NAME_WIDTH) {
            int end = rest.lastIndexOf(' ', NAME_WIDTH);
            lines.add(rest.substring(0, end));
            rest = "    " + rest.substring(end + 1);
        }
        lines.add(rest);
        return lines;
    }
}
