package dev.granary.cli.kernel;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.sun.net.httpserver.HttpServer;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.KernelBinaries;
import dev.granary.cli.Cli;
import dev.granary.coordinator.FakeCatalog;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.local.LocalTier;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * Tests of {@code populate} and {@code get} with unusable buckets: no success if nothing was
 * published, and every failure with its cause.
 */
class PopulateTruthTest {
    private final Path directory;
    private final TestFleet fleet;
    private final String manifest;

    PopulateTruthTest(@TempDir Path directory) throws Exception {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
        this.directory = directory;
        this.fleet = new TestFleet(directory);
        Files.writeString(
                directory.resolve("add.cl"),
                "__kernel void add(__global float *a) { a[get_global_id(0)] += 1.0f; }\n");
        this.manifest = Files.writeString(
                        directory.resolve("kernels.toml"),
                        "[[kernel]]\nname = 'add'\nsource = 'add.cl'\n")
                .toString();
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private Cli at(String command, String machine, String bucket, String endpoint, String... more) {
        List<String> all = new ArrayList<>(List.of(
                command, "--dir", directory.resolve(machine).toString(), "--endpoint", endpoint));
        if (!command.equals("compact")) {
            all.add("--bucket");
        }
        all.add(bucket);
        if (!List.of("warm", "ls", "compact").contains(command)) {
            all.add(manifest);
        }
        all.addAll(Arrays.asList(more));
        return Cli.run(all.toArray(String[]::new));
    }

    private Cli run(String command, String machine, String... more) {
        return at(command, machine, "s3://kernels/ci", fleet.endpoint(), more);
    }

    /** Populates by an engine in this process: that of a device starts another process. */
    private Cli populate(String... more) {
        List<String> all = new ArrayList<>(List.of("--engine", SleepingEngine.class.getName()));
        all.addAll(List.of(more));
        return run("populate", "ci", all.toArray(String[]::new));
    }

    private void assertNothingCompiled(String machine) {
        assertTrue(
                Files.notExists(directory.resolve(machine)),
                "the local directory was opened, or kernels were compiled");
    }

    @Test
    @DisplayName("missing bucket, dead server, wrong keys: populate ends with 1 and the"
            + " cause before anything is compiled, each time")
    void checkedFirst() {
        for (int i = 0; i < 2; i++) {
            Cli missing = at("populate", "ci", "s3://no-such-bucket/ci", fleet.endpoint())
                    .exits(1)
                    .reports(
                            "s3://no-such-bucket/ci at " + fleet.endpoint()
                                    + " cannot be used, nothing was compiled: there is no bucket"
                                    + " no-such-bucket",
                            "create it");
            assertEquals(1, missing.err().lines().count(), missing.err());
            at("populate", "ci", "s3://kernels/ci", "http://127.0.0.1:1")
                    .exits(1)
                    .reports("cannot connect to http://127.0.0.1:1");
        }
        String secret = System.getProperty("aws.secretAccessKey");
        try {
            System.setProperty("aws.secretAccessKey", "another-secret-key");
            for (int i = 0; i < 2; i++) {
                run("populate", "ci")
                        .exits(1)
                        .reports("the secret key does not fit the access key");
            }
        } finally {
            System.setProperty("aws.secretAccessKey", secret);
        }
        assertNothingCompiled("ci");
    }

    @Test
    @DisplayName("populate --pin pins what it has read back; if something is missing, the earlier"
            + " pin stays, and the exit code is 1")
    void pins() throws Exception {
        String[] listing = {
            "collect", "s3://kernels/ci", "--pins", "--json", "--endpoint", fleet.endpoint()
        };
        populate("--pin", "release-1").exits(0).prints("1 entry pinned as release-1");
        JsonObject before = Cli.run(listing).exits(0).json();
        assertEquals(
                List.of("release-1", 1),
                before.getAsJsonArray("pins").asList().stream()
                        .map(JsonElement::getAsJsonObject)
                        .flatMap(pin -> Stream.of(
                                pin.get("name").getAsString(),
                                pin.get("entries").getAsInt()))
                        .toList());
        Files.writeString(
                Path.of(manifest),
                "[[kernel]]\nname = 'add'\nsource = 'add.cl'\n"
                        + "[[kernel]]\nname = 'lost'\nsource = 'lost.cl'\n");
        populate("--pin", "release-1").exits(1).reports("not pinned as release-1");
        assertEquals(before, Cli.run(listing).exits(0).json());
    }

    @Test
    @DisplayName(
            "populate without a writable bucket is a wrong configuration, and compiles nothing")
    void noBucket() {
        Cli.run("populate", "--dir", directory.resolve("ci").toString(), manifest)
                .exits(2)
                .reports("No writable bucket is configured", "--bucket");
        at("populate", "ci", "s3://kernels/ci?access=read", fleet.endpoint())
                .exits(2)
                .reports("No writable bucket");
        assertNothingCompiled("ci");
    }

    @Test
    @DisplayName("an entry that the server accepts but does not return is a failure: populate reads"
            + " each entry back, and ends with 1 and the cause")
    void notReadable() {
        fleet.plan(FaultPlan.when(
                request -> request.operation().startsWith("GET range"),
                new Fault.Lost(Fault.DENIED)));
        Cli denied = populate()
                .exits(1)
                .prints("1 published, 0 there already, 0 failed, 1 of them cannot be read")
                .reports("published, but cannot be read back: ", "AccessDenied", "populate again");
        assertTrue(denied.err().lines().count() <= 2, denied.err());
        fleet.plan(FaultPlan.SOUND);
        JsonObject again = populate("--json").exits(0).json().getAsJsonObject("published");
        assertEquals(
                List.of(1, 0, 1),
                List.of(
                        again.get("present").getAsInt(),
                        again.get("unreadable").getAsInt(),
                        again.get("readBack").getAsInt()));
    }

    @Test
    @DisplayName("populate --fresh compiles what the directory and the bucket have, and publishes"
            + " what the bucket lacks; the directory stays as it is")
    void fresh() {
        Cli.run("get", manifest, "--dir", directory.resolve("ci").toString()).exits(0);
        run("populate", "ci", "--fresh").exits(0).prints("1 compiled", "1 published, 0 there");
        run("populate", "ci", "--fresh").exits(0).prints("1 compiled", "0 published, 1 there");
        run("get", "ci").exits(0).prints("0 compiled, 1 local");
        run("get", "node").exits(0).prints("1 bucket");
    }

    @Test
    @DisplayName("populate --fresh says that the bucket has other binaries for a kernel")
    void otherBinaries() throws Exception {
        run("get", "ci").exits(0);
        try (LocalTier local = TierFactory.local(fleet.config("ci").build())) {
            EntryCatalog.Listed listed = FakeCatalog.entries(local).getFirst();
            Entry entry = assertThat(local.read(listed)).isHit();
            fleet.remove(listed.namespace() + "/");
            fleet.publishUnpacked(List.of(Entry.of(
                    entry.id(),
                    KernelBinaries.of(new byte[] {1, 2, 3}),
                    entry.compileTime(),
                    entry.metadata().orElseThrow())));
        }
        run("populate", "other", "--fresh")
                .exits(0)
                .prints("0 published, 0 there already, 0 failed, 1 there with other binaries");
    }

    @Test
    @DisplayName("--junit writes a report with each kernel, also if one fails; a wrong place for"
            + " it stops the command at once")
    void junit() throws Exception {
        Path report = directory.resolve("report.xml");
        Files.writeString(
                Path.of(manifest),
                Files.readString(Path.of(manifest)) + "[[kernel]]\nname='lost'\nsource='no.cl'\n");
        populate("--junit", report.toString())
                .exits(1)
                .reports("granary: lost for ", ": unreadable: there is no file");
        String xml = Files.readString(report);
        assertTrue(
                xml.contains("name=\"add\"")
                        && xml.contains("name=\"lost\"")
                        && xml.contains("type=\"unreadable\""),
                xml);
        run("populate", "other", "--junit", directory + "/none/report.xml")
                .exits(2)
                .reports("there is no directory for --junit");
        assertNothingCompiled("other");
    }

    @Test
    @DisplayName("a truncated object under the right key does not count as there already:"
            + " populate replaces it, and another machine gets it")
    void damaged() {
        run("get", "ci").exits(0).prints("1 compiled");
        String key = fleet.keys("/e/").getFirst();
        fleet.change(key, bytes -> Arrays.copyOf(bytes, bytes.length / 3));
        run("populate", "ci").exits(0).prints("1 published, 0 there already");
        run("get", "node").exits(0).prints("1 bucket");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a lifecycle rule removes packs: populate publishes the missing entries"
            + " again, and then warm and run succeed")
    void packsGone() throws Exception {
        run("populate", "ci").exits(0).prints("1 published");
        Files.writeString(
                directory.resolve("more.cl"),
                "__kernel void more(__global float *a) { a[get_global_id(0)] += 2.0f; }\n");
        Files.writeString(
                Path.of(manifest),
                "[[kernel]]\n"
                        + "name = 'add'\n"
                        + "source = 'add.cl'\n"
                        + "[[kernel]]\n"
                        + "name = 'more'\n"
                        + "source = 'more.cl'\n");
        JsonObject both =
                run("populate", "ci", "--json").exits(0).json().getAsJsonObject("published");
        // after a slow answer it publishes both
        assertEquals(
                2, both.get("stored").getAsInt() + both.get("present").getAsInt(), both::toString);
        run("warm", "before").exits(0).prints("2 entries (");
        fleet.remove("/p/");
        run("warm", "before").exits(0).prints("present    2");
        run("warm", "meanwhile").exits(1).prints("installed  0 entries (0 B)");
        run("populate", "ci").exits(0).prints("2 local", "2 published");
        for (int pack = 0; pack < 2; pack++) {
            compactLoss();
        }
        for (String machine : List.of("node", "before", "meanwhile")) {
            Cli warm = run("warm", machine).exits(0).prints("skipped    0");
            assertEquals("", warm.err());
        }
        run("get", "node", "--require-bucket").exits(0).prints("2 local");
        run("get", "another").exits(0).prints("2 bucket");
    }

    @Test
    @Tag("exhaustive") // by default TargetPackReaderTest and PackCompactorTest
    @DisplayName("packs are gone and programs have published unpacked entries: populate reports"
            + " there already, warm reports the pack until compact drops it")
    void packsGoneAndPublishedUnpacked() {
        run("populate", "ci").exits(0).prints("1 published");
        fleet.remove("/p/");
        run("get", "program").exits(0).prints("1 compiled");
        run("warm", "meanwhile")
                .exits(1)
                .prints("1 entry (", "installed", "a pack cannot be read: it is not there");
        // PoCL's second compile may have other bytes, which count as divergent
        JsonObject published =
                run("populate", "ci", "--json").exits(0).json().getAsJsonObject("published");
        assertEquals(0, published.get("stored").getAsInt(), published::toString);
        assertEquals(
                1,
                published.get("present").getAsInt() + published.get("divergent").getAsInt(),
                published::toString);
        run("warm", "node").exits(1).prints("a pack cannot be read: it is not there");
        compactLoss();
        run("warm", "other")
                .exits(0)
                .prints("installed  1 entry (", "present    0", "skipped    0");
    }

    @Test
    @DisplayName("verify --recompile compiles those kernels of a manifest again that a place has;"
            + " without a manifest it is a mistake")
    void recompile() throws Exception {
        Path store = directory.resolve("store");
        Cli.run("get", "--dir", store.toString(), manifest).exits(0);
        String[] verify = {
            "verify", store.toString(), "--recompile", "5", "--manifest", manifest, "--json"
        };
        JsonObject again = Cli.run(verify).exits(0).json();
        JsonObject add = again.getAsJsonArray("recompiled").get(0).getAsJsonObject();
        assertEquals("add", add.get("name").getAsString());
        // PoCL makes another binary each time if its own cache is empty
        assertTrue(
                List.of("equal", "not-reproducible").contains(add.get("result").getAsString()),
                again::toString);
        Cli.run("verify", store.toString(), "--recompile", "5").exits(2).reports("--manifest");
        Files.writeString(
                directory.resolve("add.cl"),
                "__kernel void add(__global float *a) { a[get_global_id(0)] += 2.0f; }\n");
        Cli.run("verify", store.toString(), "--recompile", "5", "--manifest", manifest)
                .exits(0)
                .prints("PLACE has none of the manifest's");
    }

    /** Compacts, which reports a lost pack, drops it, and ends with 1. */
    private void compactLoss() {
        run("compact", "ci").exits(1).prints("1 entry lost: missing or damaged in their pack");
    }

    /** Populates the bucket of a team; that of the company, which has the kernel, is read. */
    private Cli populateTeam(String... more) {
        List<String> all = new ArrayList<>(List.of("--bucket", "s3://kernels/company?access=read"));
        all.addAll(List.of(more));
        return at(
                "populate",
                "team",
                "s3://kernels/team",
                fleet.endpoint(),
                all.toArray(String[]::new));
    }

    @Test
    @DisplayName("a kernel of a later bucket does not count while the populated one refuses"
            + " writes; afterwards it is published there without a compile")
    void hitOfAnotherBucket() {
        at("get", "ci", "s3://kernels/company", fleet.endpoint()).exits(0);
        fleet.plan(FaultPlan.when(
                request ->
                        request.operation().startsWith("PUT") && request.key().startsWith("team/v"),
                new Fault.Lost(Fault.DENIED)));
        populateTeam()
                .exits(1)
                .prints(
                        "0 compiled",
                        "s3://kernels/team: 0 published, 0 there already, 1 failed",
                        "1 not-stored")
                .reports("not published", "AccessDenied");
        at("get", "node", "s3://kernels/team?access=read", fleet.endpoint())
                .exits(0)
                .prints("1 compiled");
        fleet.plan(FaultPlan.SOUND);
        populateTeam().exits(0).prints("0 compiled", "1 published");
        at("get", "another", "s3://kernels/team?access=read", fleet.endpoint())
                .exits(0)
                .prints("1 bucket");
        populateTeam("--capacity", "0")
                .exits(0)
                .prints("0 compiled", "0 published, 1 there already, 0 failed", "1 bucket");
    }

    private static JsonObject bucket(Cli json) {
        return json.json().getAsJsonArray("buckets").get(0).getAsJsonObject();
    }

    private static List<Long> counters(JsonObject bucket, String... names) {
        return Stream.of(names)
                .map(bucket.getAsJsonObject("counters")::get)
                .map(JsonElement::getAsLong)
                .toList();
    }

    @Test
    @DisplayName("the limit for uploads passes: pending entries are counted and reported, the"
            + " exit code is 1")
    void pending() {
        fleet.plan(FaultPlan.when(
                request ->
                        request.operation().startsWith("PUT") && request.key().contains("/p/"),
                new Fault.Delayed(Fault.Moment.BEFORE, Duration.ofSeconds(20))));
        populate("--upload-limit", "1")
                .exits(1)
                .prints("0 published, 0 there already, 0 failed, 1 pending")
                .reports("not published: 1 entry: no answer from s3://kernels/ci", "within 1 s");
    }

    private static List<Object> breaker(Cli json) {
        JsonObject bucket = bucket(json);
        List<Long> counters =
                counters(bucket, "bucket-requests", "bucket-retries", "breaker-openings");
        return List.of(
                counters.get(0) > 0,
                counters.get(1) > 0,
                bucket.get("breaker").getAsString(),
                counters.get(2));
    }

    /** Closes each connection of a server, so that no request has an answer. */
    private static void closeAll(ServerSocket server) {
        try {
            while (true) {
                server.accept().close();
            }
        } catch (IOException e) {
            return; // the server is closed
        }
    }

    @Test
    @DisplayName("run and populate show the requests to a bucket, their retries, and the state"
            + " of its circuit breaker, as text and as JSON")
    void breaker() throws Exception {
        try (ServerSocket closing = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Thread.startVirtualThread(() -> closeAll(closing));
            String broken = "http://127.0.0.1:" + closing.getLocalPort();
            assertEquals(
                    List.of(true, true, "open", 1L),
                    breaker(at("get", "a", "s3://kernels/ci", broken, "--json").exits(0)));
            at("get", "b", "s3://kernels/ci", broken)
                    .exits(0)
                    .prints("bucket: ", "circuit breaker open (opened 1 time)");
        }
        assertEquals(
                List.of(true, false, "closed", 0L), breaker(populate("--json").exits(0)));
        assertEquals(
                List.of(true, false, "closed", 0L),
                breaker(run("get", "d", "--json").exits(0)));
        Cli text = run("get", "e").exits(0);
        assertTrue(
                text.out()
                        .lines()
                        .anyMatch(line -> line.matches(
                                "bucket: \\d+ requests?, 0 retries, circuit breaker closed")),
                text.out());
        Cli.run("stats", "--dir", directory.resolve("a").toString())
                .exits(0)
                .prints("bucket-requests", "bucket-retries", "breaker-openings");
    }

    @Test
    @DisplayName("run with a bucket that cannot be used: one line with the cause, and 0; with"
            + " --require-bucket 1, even if all are in the local tier")
    void requireBucket() {
        Cli dead = at("get", "node", "s3://kernels/ci", "http://127.0.0.1:1")
                .exits(0)
                .prints("1 compiled")
                .reports(
                        "granary: s3://kernels/ci at http://127.0.0.1:1: ",
                        "1 lookup failed",
                        "granary doctor");
        assertEquals(1, dead.err().lines().count(), dead.err());
        at("get", "node", "s3://kernels/ci", "http://127.0.0.1:1").exits(0).prints("1 local");
        at("get", "node", "s3://kernels/ci", "http://127.0.0.1:1", "--require-bucket")
                .exits(1)
                .prints("1 local")
                .reports("cannot connect to");
        Cli missing = at("get", "missing", "s3://no-such-bucket/ci", fleet.endpoint())
                .exits(0)
                .prints("1 compiled")
                .reports("NoSuchBucket");
        assertEquals(1, missing.err().lines().count(), missing.err());
        at("get", "other", "s3://no-such-bucket/ci", fleet.endpoint(), "--require-bucket")
                .exits(1)
                .prints("1 compiled")
                .reports("NoSuchBucket");
        Cli sound = run("get", "third", "--require-bucket").exits(0).prints("1 compiled");
        assertEquals("", sound.err());
        run("get", "fourth", "--require-bucket").exits(0).prints("1 bucket");
        Cli.run("get", "--dir", directory.resolve("third").toString(), manifest, "--require-bucket")
                .exits(2)
                .reports("No bucket is configured");
    }

    @Test
    @DisplayName("a server that returns something for every name: run reports it in one line, and"
            + " ends with 1 if a bucket is required")
    void somethingForEveryName() throws IOException {
        HttpServer server =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            exchange.getResponseHeaders().set("ETag", "\"a\"");
            exchange.sendResponseHeaders(
                    200, exchange.getRequestMethod().equals("HEAD") ? -1 : 1000);
            exchange.getResponseBody()
                    .write(new byte[exchange.getRequestMethod().equals("HEAD") ? 0 : 1000]);
            exchange.close();
        });
        server.start();
        try {
            String endpoint = "http://127.0.0.1:" + server.getAddress().getPort();
            Cli run = at("get", "node", "s3://kernels/ci", endpoint)
                    .exits(0)
                    .prints("1 compiled")
                    .reports("granary: s3://kernels/ci at " + endpoint + ": ");
            assertEquals(1, run.err().lines().count(), run.err());
            Cli required = at("get", "other", "s3://kernels/ci", endpoint, "--require-bucket")
                    .exits(1)
                    .prints("1 compiled")
                    .reports("is this an S3 server?");
            assertEquals(1, required.err().lines().count(), required.err());
        } finally {
            server.stop(0);
        }
    }

    @Test
    @DisplayName("run with a bucket that has only a damaged entry: one line reports it, and the"
            + " upload replaces it")
    void onlyDamaged() {
        run("get", "ci").exits(0).prints("1 compiled");
        fleet.change(fleet.keys("/e/").getFirst(), bytes -> Arrays.copyOf(bytes, bytes.length / 3));
        Cli run = run("get", "node", "--require-bucket")
                .exits(0)
                .prints("1 compiled")
                .reports("found a damaged entry, and none a sound one");
        assertEquals(1, run.err().lines().count(), run.err());
        assertEquals("", run("get", "another").exits(0).prints("1 bucket").err());
    }

    @Test
    @DisplayName("run with credentials without write access: one line reports the failed uploads,"
            + " and the exit code is 0")
    void readOnly() {
        fleet.plan(FaultPlan.when(
                request -> request.operation().startsWith("PUT"), new Fault.Lost(Fault.DENIED)));
        Cli run = run("get", "node")
                .exits(0)
                .prints("1 compiled")
                .reports("AccessDenied", "1 upload failed");
        assertEquals(1, run.err().lines().count(), run.err());
    }
}
