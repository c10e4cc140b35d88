package dev.granary.benchmarks.bucket.warm;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.benchmarks.bucket.workload.BucketFiller;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The usual programs for copies from buckets. Programs that are not installed are left out. */
final class CopyTools {
    private static final List<String> RCLONE_OPTIONS =
            List.of("--s3-no-check-bucket", "--config", "/dev/null");
    /** The label of rclone as it is installed, for the one object. */
    static final String PEER = "rclone";

    private static final String REMOTE = "bench:";

    private final BucketWorkspace workplace;
    private final ServerRoute route;
    private final String namespace;

    CopyTools(BucketWorkspace workplace, ServerRoute route, String namespace) {
        this.workplace = workplace;
        this.route = route;
        this.namespace = namespace;
    }

    /**
     * Returns the programs that fetch the one object. The peer reads a large object in four
     * streams; on the loopback interface one is faster.
     */
    List<DirectoryFiller> objectFillers() throws IOException {
        List<DirectoryFiller> fillers = new ArrayList<>();
        Path rclone = BucketWorkspace.program("rclone");
        if (rclone == null) {
            workplace.tell("rclone is not installed and is left out");
        } else {
            fillers.add(new Tool(
                    PEER,
                    rclone("copyto", route.bucket() + "/" + BucketFiller.OBJECT),
                    rcloneEnvironment()));
            fillers.add(new Tool(
                    "rclone, 1 stream",
                    rclone(
                            "copyto",
                            route.bucket() + "/" + BucketFiller.OBJECT,
                            "--multi-thread-streams",
                            "0"),
                    rcloneEnvironment()));
        }
        Path aws = BucketWorkspace.program("aws");
        if (aws == null) {
            workplace.tell("aws is not installed and is left out");
        } else {
            fillers.add(new Tool(
                    "aws s3 cp",
                    List.of(
                            aws.toString(),
                            "s3",
                            "cp",
                            "--only-show-errors",
                            "--endpoint-url",
                            route.endpoint().toString(),
                            "s3://" + route.bucket() + "/" + BucketFiller.OBJECT),
                    awsEnvironment()));
        }
        return fillers;
    }

    /** Returns the programs that fetch the unpacked entries as objects of their own. */
    List<DirectoryFiller> looseFillers() {
        if (BucketWorkspace.program("rclone") == null) {
            return List.of();
        }
        String tree = route.bucket() + "/" + BucketFiller.LOOSE + "/v2/" + namespace + "/e";
        return List.of(new Tool(
                "rclone, loose",
                rclone("copy", tree, "--transfers", "32", "--checkers", "32", "--fast-list"),
                rcloneEnvironment()));
    }

    private static List<String> rclone(String command, String from, String... options) {
        List<String> line = new ArrayList<>(List.of("rclone", command));
        line.addAll(RCLONE_OPTIONS);
        line.addAll(List.of(options));
        line.add(REMOTE + from);
        return line;
    }

    private Map<String, String> rcloneEnvironment() {
        Map<String, String> credentials = route.credentials();
        Map<String, String> environment = new HashMap<>();
        environment.put("RCLONE_CONFIG_BENCH_TYPE", "s3");
        environment.put("RCLONE_CONFIG_BENCH_PROVIDER", "Other");
        environment.put("RCLONE_CONFIG_BENCH_ENDPOINT", route.endpoint().toString());
        environment.put(
                "RCLONE_CONFIG_BENCH_ACCESS_KEY_ID",
                credentials.getOrDefault("AWS_ACCESS_KEY_ID", ""));
        environment.put(
                "RCLONE_CONFIG_BENCH_SECRET_ACCESS_KEY",
                credentials.getOrDefault("AWS_SECRET_ACCESS_KEY", ""));
        environment.put("RCLONE_CONFIG_BENCH_REGION", credentials.getOrDefault("AWS_REGION", ""));
        return workplace.environment(environment);
    }

    private Map<String, String> awsEnvironment() throws IOException {
        Path settings = workplace.path("aws-config");
        Files.writeString(settings, """
            [default]
            s3 =
              max_concurrent_requests = 16
              multipart_chunksize = 8MB
              addressing_style = path
            """);
        Map<String, String> environment = new HashMap<>(route.credentials());
        environment.put("AWS_CONFIG_FILE", settings.toString());
        environment.put(
                "AWS_SHARED_CREDENTIALS_FILE",
                workplace.path("no-configuration").toString());
        return workplace.environment(environment);
    }

    /** A copy tool as a process. */
    private final class Tool implements DirectoryFiller {
        private final String label;
        private final List<String> command;
        private final Map<String, String> environment;

        Tool(String label, List<String> command, Map<String, String> environment) {
            this.label = label;
            this.command = command;
            this.environment = environment;
        }

        @Override
        public String label() {
            return label;
        }

        @Override
        public double fill(Path directory) throws IOException, InterruptedException {
            List<String> line = new ArrayList<>(command);
            line.add(directory.toString());
            return workplace.run(line, environment).seconds();
        }
    }
}
