package dev.granary.cli.compiler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.gson.JsonParseException;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the messages between {@code populate} and its compiler processes. */
class CompilerMessagesTest {
    @Test
    @DisplayName("A message is decoded to the same message")
    void roundTrip() {
        CompilerResponse.CompileFailed message =
                new CompilerResponse.CompileFailed("two\nlines", "log");
        assertEquals(
                message,
                CompilerMessages.decode(CompilerMessages.encode(message), CompilerResponse.class));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "null",
                "[]",
                "1",
                "{}",
                "{",
                "{\"Failed\":null}",
                "{\"Other\":{}}",
                "{\"Failed\":{\"cause\":\"a\"},\"Misused\":{\"cause\":\"b\"}}"
            })
    @DisplayName("A text that is no message is refused as such: its sender counts as crashed")
    void noMessage(String text) {
        assertThrows(
                JsonParseException.class,
                () -> CompilerMessages.decode(text, CompilerResponse.class));
    }
}
