package dev.granary.cli.compiler;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;

import java.util.Map;

/**
 * Encoder and decoder of messages as one line of JSON: an object with one property, named after the
 * kind of the message.
 */
final class CompilerMessages {
    private static final Gson GSON = new Gson();

    private CompilerMessages() {}

    static String encode(Record message) {
        JsonObject object = new JsonObject();
        object.add(message.getClass().getSimpleName(), GSON.toJsonTree(message));
        return GSON.toJson(object);
    }

    /**
     * Returns the message that a line encodes.
     *
     * @param type the sealed type of the message
     * @throws JsonParseException if the line is no JSON object with one property, or of an unknown
     *     kind
     */
    static <T> T decode(String line, Class<T> type) {
        JsonElement message = JsonParser.parseString(line);
        if (!message.isJsonObject() || message.getAsJsonObject().size() != 1) {
            throw new JsonParseException("a message is an object with one property");
        }
        Map.Entry<String, JsonElement> only =
                message.getAsJsonObject().entrySet().iterator().next();
        for (Class<?> kind : type.getPermittedSubclasses()) {
            if (kind.getSimpleName().equals(only.getKey()) && only.getValue().isJsonObject()) {
                return type.cast(GSON.fromJson(only.getValue(), kind));
            }
        }
        throw new JsonParseException("unknown message " + only.getKey());
    }
}
