package dev.granary.s3.register;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;

/** The changes of a head, and its encoded form. */
class HeadTest {
    private static final long GENERATION = 1_700_000_000_000L;

    private final SplittableRandom random = TestSeed.random("HeadTest");
    private final PackInfo first = PackFixture.info(random, GENERATION, 3);
    private final PackInfo second = PackFixture.info(random, GENERATION + 1, 400);
    private final PackInfo third = PackFixture.info(random, GENERATION + 2, 5);
    private final ObjectName base = new ObjectName(GENERATION, PackFixture.hash(random));

    /** Returns a head with a value in every field: one pack left, two are recent. */
    private Head full() {
        return Head.first(GENERATION, "ab12")
                .next("1")
                .with(first)
                .next("2")
                .with(second)
                .next("3")
                .with(third)
                .next("4")
                .with(Optional.of(base), Set.of(), Set.of(second.name()))
                .noted(GENERATION + 9)
                .next("ef");
    }

    private static List<ObjectName> names(Head head) {
        return head.recent().stream().map(PackInfo::name).toList();
    }

    private static JsonObject json(Head head) {
        return JsonParser.parseString(new String(head.encode(), UTF_8)).getAsJsonObject();
    }

    private static Head decoded(JsonObject json) throws RegisterException {
        return Head.decode(json.toString().getBytes(UTF_8));
    }

    @Test
    @DisplayName("a head is read as it was written, with every field, and written as it was read")
    void roundTrip() throws RegisterException {
        Head head = full();
        Head read = Head.decode(head.encode());
        assertEquals(json(head), json(read));
        assertEquals(
                List.of(head.generation(), head.nonce(), head.boundary()),
                List.of(read.generation(), read.nonce(), read.boundary()));
        assertEquals(
                Optional.of(new Head.Candidate(GENERATION + 4, GENERATION + 9)), read.candidate());
        assertEquals(Optional.of(base), read.base());
        assertEquals(List.of(third.name(), first.name()), names(read));
        assertEquals(List.of(new Head.Retired(second.name(), GENERATION + 5)), read.retired());
        assertEquals(third.filterBytes(), read.recent().getFirst().filterBytes());
        Head empty = Head.first(GENERATION, "ab12");
        assertEquals(json(empty), json(Head.decode(empty.encode())));
    }

    @Test
    @DisplayName("fields of a newer version survive each change; fields that became empty do not")
    void unknownFields() throws RegisterException {
        JsonObject newer = json(full());
        newer.addProperty("colour", "blue");
        newer.add("shape", JsonParser.parseString("{\"sides\": [1, 2, 3]}"));
        Head changed = decoded(newer)
                .with(second)
                .advanced()
                .with(Optional.empty(), Set.of(), Set.of(third.name()))
                .next("5");
        JsonObject written = json(changed);
        assertEquals("blue", written.get("colour").getAsString());
        assertEquals(newer.get("shape"), written.get("shape"));
        assertFalse(written.has("candidate"));
        assertFalse(written.has("base"));
        assertEquals(Optional.empty(), Head.decode(changed.encode()).candidate());
    }

    @Test
    @DisplayName("whatever is not a head is a loss: cut, empty, foreign, impossible numbers")
    void damaged() {
        byte[] sound = full().encode();
        for (int length = 0; length < sound.length; length++) {
            byte[] cut = Arrays.copyOf(sound, length);
            assertTrue(assertThrows(RegisterException.class, () -> Head.decode(cut))
                    .isLoss());
        }
        for (String text : List.of(
                "null",
                "[]",
                "<html><body>Sign in</body></html>",
                "{\"format\": 1}",
                "{\"format\": {}}",
                "[".repeat(100_000))) {
            assertTrue(
                    assertThrows(RegisterException.class, () -> Head.decode(text.getBytes(UTF_8)))
                            .isLoss());
        }
        for (JsonObject wrong : List.of(
                with("format", 0),
                with("boundary", full().generation() + 1),
                with("boundary", -1),
                with("generation", GENERATION - 1))) {
            assertTrue(
                    assertThrows(RegisterException.class, () -> decoded(wrong)).isLoss());
        }
    }

    private JsonObject with(String field, long value) {
        JsonObject json = json(full());
        json.addProperty(field, value);
        return json;
    }

    @Test
    @DisplayName("a head of a newer format is neither read nor a loss, whatever else it has")
    void newer() {
        for (JsonObject newer : List.of(
                with("format", 2), JsonParser.parseString("{\"format\": 3}").getAsJsonObject())) {
            RegisterException failure = assertThrows(RegisterException.class, () -> decoded(newer));
            assertFalse(failure.isLoss());
            assertTrue(failure.toString().contains("newer version"), failure::toString);
        }
    }

    @Test
    @DisplayName("a new boundary is the generation that was noted: packs that left until then are"
            + " forgotten, later ones stay")
    void boundary() {
        Head noted = full(); // noted at + 4; the second pack left in + 5
        assertEquals(GENERATION, noted.boundary());
        Head advanced = noted.advanced();
        assertEquals(GENERATION + 4, advanced.boundary());
        assertEquals(Optional.empty(), advanced.candidate());
        assertTrue(advanced.retires(second.name()), "it left in the head after the noted one");
        Head later = advanced.noted(GENERATION + 99).advanced();
        assertEquals(noted.generation(), later.boundary());
        assertFalse(later.retires(second.name()));
        assertFalse(later.namesOrRetires(second.name()));
        assertFalse(later.admits(second.name()), "what left cannot come back");
        assertTrue(later.namesOrRetires(first.name()), "named packs stay, however old");
    }

    @Test
    @DisplayName("names are admitted from the boundary to the present generation")
    void admits() {
        Head head = full().advanced();
        for (long generation = head.boundary() - 1;
                generation <= head.generation() + 1;
                generation++) {
            assertEquals(
                    generation >= head.boundary() && generation <= head.generation(),
                    head.admits(new ObjectName(generation, first.name().hash())));
        }
    }

    @Test
    @DisplayName("a base takes over recent packs; the others stay recent, the newest first")
    void folded() {
        Head head = Head.first(GENERATION, "0").with(first).with(second).with(third);
        assertEquals(List.of(third.name(), second.name(), first.name()), names(head));
        Head folded = head.with(Optional.of(base), Set.of(first.name()), Set.of(second.name()));
        assertEquals(List.of(third.name()), names(folded));
        assertEquals(Optional.of(base), folded.base());
        assertTrue(folded.retires(second.name()));
        assertFalse(folded.retires(first.name()));
        ObjectName next = new ObjectName(GENERATION, PackFixture.hash(random));
        Head again = folded.with(Optional.of(next), Set.of(third.name()), Set.of());
        assertTrue(again.retires(base), "readers of the former head still read it");
        assertFalse(again.retires(next));
    }

    @Test
    @DisplayName("the filters of recent packs have at most 64 KB; a pack beyond that has none, and"
            + " a smaller one after it has its own again")
    void filters() {
        Head head = Head.first(GENERATION, "0");
        int packs = 0;
        for (; head.recent().stream().allMatch(pack -> pack.filter().isPresent()); packs++) {
            head = head.with(PackFixture.info(random, GENERATION, 1_000));
        }
        int bytes = head.recent().stream().mapToInt(PackInfo::filterBytes).sum();
        assertTrue(bytes <= 64 << 10, bytes + " bytes");
        assertEquals(32 + 1, packs); // 2,000 bytes each
        head = head.with(first);
        assertTrue(head.recent().getFirst().filter().isPresent());
        while (head.recent().size() < Head.FOLDED) {
            head = head.with(PackFixture.info(random, GENERATION, 1_000));
        }
        int encoded = head.encode().length;
        assertTrue(encoded < 128 << 10, encoded + " bytes");
    }
}
