package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;

import dev.granary.cli.Cli;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.file.PlanFile;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.tuning.PlanSpace;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;

import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Tests of spaces in plan files, and of {@code granary tune} without a bucket. */
class TuneCommandTest {
    private static final String SCALE = """
            kernel = "scale"
            logic = "Y[i, j] = X[i, j] * 2"
            order = "$order"
            unroll = ["$unrolled"]
            bind = { group-x = "i", item-x = "$item" }
            vectorize = "$vector"

            [space]
            where = ["tile >= 4 or item == ''", "vector == 'jj' or order == 'i ii j jj'"]

            [space.parameter]
            tile = [2, 4]
            item = ["ii", ""]
            cached = [true, false]
            unrolled = ["j"]
            vector = ["", "jj"]
            order = [["i", "ii", "j", "jj"], ["i", "j", "ii", "jj"]]

            [[array]]
            name = "X"
            shape = [8, 12]

            [[array]]
            name = "Y"
            role = "output"
            shape = [8, 12]

            [[loop]]
            index = "i"
            iterations = 8

            [[loop]]
            index = "j"
            iterations = 12

            [[split]]
            index = "i"
            size = "$tile"

            [[split]]
            index = "j"
            size = 4

            [[cache]]
            source = "X"
            index = "jj"
            enabled = "$cached"
            thrifty = false
            """;

    /** Six plans. */
    private static final String FEW =
            SCALE.replace("[2, 4]", "[4]").replace("cached = [true, false]", "cached = [false]");

    @TempDir
    private Path directory;

    private Path file(String content) throws IOException {
        return Files.writeString(directory.resolve("scale.toml"), content);
    }

    private Cli granary(String command, String content, String... options) throws IOException {
        List<String> arguments = new ArrayList<>(List.of(
                command,
                file(content).toString(),
                "--device",
                "portable",
                "--dir",
                directory.resolve("cache").toString()));
        arguments.addAll(List.of(options));
        return Cli.run(arguments.toArray(String[]::new));
    }

    private void wrong(String part, String other, String message) throws IOException {
        assertTrue(SCALE.contains(part), part);
        Path file = file(SCALE.replace(part, other));
        TomlException e =
                Assertions.assertThrows(TomlException.class, () -> PlanFile.readSpace(file));
        assertTrue(String.valueOf(e.getMessage()).contains(message), e.getMessage());
    }

    @Test
    @DisplayName("a space in a file has the plans that its values give")
    void file() throws Exception {
        PlanSpace space = PlanFile.readSpace(file(SCALE));
        // tile 2 only without work-items, the second order only with vectors
        assertEquals(3 * 2 * 3, space.size());
        List<KernelPlan> plans = IntStream.range(0, space.size())
                .mapToObj(space::point)
                .map(space::plan)
                .toList();
        assertEquals(18, plans.stream().distinct().count());
        KernelPlan first = plans.getFirst(); // tile = 2, item = "", cached, no vector
        assertEquals(
                "tile=2 item= cached=true unrolled=j vector= order=i ii j jj",
                space.point(0).toString());
        assertEquals(1, first.report().caches().size());
        assertEquals(1, first.report().groupItems());
        assertEquals(4, plans.getLast().schedule().loops().size());
        assertEquals(
                List.of("i", "ii", "j", "jj"),
                first.schedule().order().stream().map(LoopIndex::name).toList());
        assertEquals(
                9,
                plans.stream().filter(plan -> plan.report().caches().isEmpty()).count());
        assertEquals(
                12,
                plans.stream()
                        .filter(plan -> plan.schedule().vectorized().isPresent())
                        .count());
        assertTrue(plans.stream().anyMatch(plan -> plan.report().groupItems() == 4));
    }

    @Test
    @DisplayName("mistakes in a space are refused with file, line and column")
    void mistakes() throws Exception {
        wrong("size = \"$tile\"", "size = \"$til\"", "\"$til\" is no parameter of the space");
        wrong("size = \"$tile\"", "size = 4", "the parameter tile is not used");
        wrong("tile = [2, 4]", "tile = 2", "scale.toml:12:1: tile must be a list of values");
        wrong("tile = [2, 4]", "tile = [2.5]", "a value must be a whole number, true");
        wrong("tile = [2, 4]", "tile = [2, 2]", "tile has two values that are equal");
        wrong("tile = [2, 4]", "tile = []", "The parameter tile needs values");
        wrong("tile >= 4 or", "tile >= or", "'or' in place of a name or a number");
        wrong("tile >= 4 or", "tile >= 40, tole < 1 or", "The constraint");
        wrong("[\"tile >= 4 or item == ''\"", "[\"tile > 4\"", "satisfies its constraints");
        wrong("[space]\n", "[space]\nwere = 1\n", "unknown key 'were'; a space has parameter");
        wrong("[space.parameter]", "[space.parameters]", "unknown key 'parameters'");
        wrong("kernel = \"scale\"", "kernel = \"$tile\"", "needs a name of a letter");
        wrong("iterations = 8", "iterations = \"$tile\"", "iterations must be a whole number");
        wrong("unroll", "unrol", "unknown key 'unrol'");
        String plain = SCALE.substring(0, SCALE.indexOf("[space]"))
                + SCALE.substring(SCALE.indexOf("[[array]]"));
        wrong(SCALE, plain, "there is no table [space]");
        Cli.run("plan", file(SCALE).toString())
                .exits(2)
                .reports("scale.toml:8:1: the file has a space of plans; granary tune");
    }

    @Test
    @NeedsPocl
    @DisplayName("tune tries plans once, --show and later runs try none, --again keeps the"
            + " better one")
    void tune() throws Exception {
        granary("tune", FEW, "--show").exits(1).reports("no tier has an outcome for this space");
        Cli text = granary("tune", FEW, "--seed", "7").exits(0).isNarrow();
        text.prints("from       tuned", "6 of 6 plans in", "seed 7", " 0 wrong");
        JsonObject stored = granary("tune", FEW, "--show", "--json").exits(0).json();
        assertEquals("stored", stored.get("from").getAsString());
        assertEquals(7, stored.get("seed").getAsLong());
        assertEquals(6, stored.get("points").getAsInt());
        JsonObject again = granary("tune", FEW, "--json").exits(0).json();
        assertEquals("local", again.get("from").getAsString());
        assertEquals("local", again.get("kernelFrom").getAsString());
        assertEquals(stored.get("parameters"), again.get("parameters"));
        JsonObject better = granary("tune", FEW, "--again", "--budget", "1", "--json")
                .exits(0)
                .json();
        assertEquals(
                better.get("from").getAsString().equals("tuned") ? 1 : 0,
                better.get("revision").getAsInt());
        inspected(stored.get("outcomeId").getAsString());
    }

    private void inspected(String id) {
        String cache = directory.resolve("cache").toString();
        Cli.run("inspect", id.substring(0, 16), "--dir", cache)
                .exits(0)
                .prints("granary tuning 1", "tuned in", "  kind", "tuning");
        Cli.run("ls", "--long", "--dir", cache).exits(0).prints("tuning of scale");
        JsonObject json =
                Cli.run("inspect", id, "--dir", cache, "--json").exits(0).json();
        assertTrue(json.getAsJsonArray("tuning").size() > 10);
        Cli.run("verify", "--dir", cache).exits(0);
    }

    @Test
    @NeedsPocl
    @DisplayName("--publish publishes the stored outcome with its kernel, and tries no plan")
    void publish() throws Exception {
        try (TestFleet fleet = new TestFleet(directory)) {
            String[] options = {
                "--publish", "--bucket", "s3://kernels/ci", "--endpoint", fleet.endpoint(), "--json"
            };
            granary("tune", FEW, options).exits(1).reports("no tier has an outcome");
            JsonObject tuned = granary("tune", FEW, "--json").exits(0).json();
            assertEquals(List.of(), fleet.keys("/e/"));
            JsonObject published = granary("tune", FEW, options).exits(0).json();
            assertEquals("stored", published.get("from").getAsString());
            assertEquals(tuned.get("kernelId"), published.get("kernelId"));
            for (String id : List.of("outcomeId", "kernelId")) {
                String hash = tuned.get(id).getAsString();
                assertTrue(
                        fleet.keys("/e/").stream().anyMatch(key -> key.contains(hash)),
                        () -> id + " is not in " + fleet.keys("/e/"));
            }
        }
    }

    @Test
    @Tag("exhaustive")
    @NeedsPocl
    @DisplayName("tune with a bucket that does not answer uploads: the limit is reported, the"
            + " exit code is 1")
    void pending() throws Exception {
        try (TestFleet fleet = new TestFleet(directory)) {
            fleet.plan(FaultPlan.when(
                    request -> request.operation().startsWith("PUT"),
                    new Fault.Delayed(Fault.Moment.BEFORE, Duration.ofSeconds(20))));
            String[] options = {
                "--upload-limit", "1", "--bucket", "s3://kernels/ci", "--endpoint", fleet.endpoint()
            };
            granary("tune", FEW, options)
                    .exits(1)
                    .reports("not published: no answer from s3://kernels/ci", "within 1 s");
            fleet.plan(FaultPlan.SOUND);
        }
    }

    @Test
    @DisplayName("wrong options of tune are refused")
    void options() throws Exception {
        granary("tune", SCALE, "--budget", "0").exits(2).reports("must be positive numbers");
        granary("tune", SCALE, "--show", "--again").exits(2).reports("give one");
        granary("tune", SCALE, "--publish", "--again").exits(2).reports("give one");
        granary("tune", SCALE, "--publish").exits(2).reports("No writable bucket");
    }
}
