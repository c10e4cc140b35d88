package dev.granary.cli.output;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import java.io.PrintWriter;
import java.util.List;
import java.util.Map;

/** Output of JSON values. */
public final class JsonOutput {
    private JsonOutput() {}

    public static void print(PrintWriter out, JsonElement value) {
        new GsonBuilder()
                .setPrettyPrinting()
                .disableHtmlEscaping()
                .serializeNulls()
                .create()
                .toJson(value, out);
        out.println();
        out.flush();
    }

    /** Returns an object with the given counts, in their order. */
    public static JsonObject object(Map<String, Long> counts) {
        JsonObject object = new JsonObject();
        counts.forEach(object::addProperty);
        return object;
    }

    /** Returns an object with properties given as name, value, name, value... */
    public static JsonObject object(Object... namesAndValues) {
        JsonObject object = new JsonObject();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            String name = (String) namesAndValues[i];
            switch (namesAndValues[i + 1]) {
                case JsonElement element -> object.add(name, element);
                case Number number -> object.addProperty(name, number);
                case Boolean flag -> object.addProperty(name, flag);
                case Object other -> object.addProperty(name, other.toString());
            }
        }
        return object;
    }

    /** Returns an array of texts. */
    public static JsonArray strings(List<String> texts) {
        JsonArray array = new JsonArray();
        texts.forEach(array::add);
        return array;
    }
}
