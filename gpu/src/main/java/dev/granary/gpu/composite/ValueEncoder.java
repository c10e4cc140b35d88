package dev.granary.gpu.composite;

import org.jspecify.annotations.Nullable;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;

/**
 * An encoder of a descriptor's values as bytes, which are the same in every process. Values that
 * differ have different encodings: each value is preceded by its type, and by its length if that
 * varies.
 *
 * <p>Supported are numbers, characters, truth values, texts, enum constants, records, optional
 * values, lists and sorted maps, nested in any way. Other values have no encoding, since nothing
 * about them is certain to be the same in another process.
 */
final class ValueEncoder {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final DataOutputStream out = new DataOutputStream(bytes);

    private ValueEncoder() {}

    /** Thrown if a value has no encoding, with the reason. */
    static final class NoEncodingException extends Exception {
        private static final long serialVersionUID = 1L;

        NoEncodingException(String message) {
            super(message);
        }
    }

    /**
     * Returns the encoding of a value.
     *
     * @param name the name of the value in messages
     * @throws NoEncodingException if the value, or a value in it, is of a type without encoding
     */
    static byte[] encode(String name, Object value) throws NoEncodingException {
        ValueEncoder encoder = new ValueEncoder();
        try {
            encoder.add(name, value);
        } catch (IOException e) { // a stream in memory throws none
            throw new UncheckedIOException(e);
        }
        return encoder.bytes.toByteArray();
    }

    private void add(String name, @Nullable Object value) throws NoEncodingException, IOException {
        switch (value) {
            case null -> out.writeByte('0');
            case Boolean truth -> scalar('B', truth ? 1 : 0);
            case Byte number -> scalar('b', number);
            case Short number -> scalar('s', number);
            case Integer number -> scalar('i', number);
            case Long number -> scalar('l', number);
            case Character character -> scalar('c', character);
            // a record's equality takes all NaN as one value, as these conversions do
            case Float number -> scalar('f', Float.floatToIntBits(number));
            case Double number -> scalar('d', Double.doubleToLongBits(number));
            case String text -> text('t', text);
            case Enum<?> constant -> {
                text('e', constant.getDeclaringClass().getName());
                text('t', constant.name());
            }
            case Optional<?> optional -> {
                out.writeByte('o');
                add(name, optional.orElse(null));
            }
            case List<?> list -> {
                scalar('L', list.size());
                for (Object element : list) {
                    add(name, element);
                }
            }
            case NavigableMap<?, ?> map -> {
                scalar('M', map.size());
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    add(name, entry.getKey());
                    add(name, entry.getValue());
                }
            }
            case Record nested -> addRecord(name, nested);
            default ->
                throw new NoEncodingException(name + " is a " + value.getClass().getName()
                        + ", which has no encoding that is the same in every process");
        }
    }

    private void addRecord(String name, Record value) throws NoEncodingException, IOException {
        text('r', value.getClass().getName());
        RecordComponent[] components = value.getClass().getRecordComponents();
        scalar('n', components.length);
        for (RecordComponent component : components) {
            text('t', component.getName());
            add(name + "." + component.getName(), componentValue(name, component, value));
        }
    }

    private static @Nullable Object componentValue(
            String name, RecordComponent component, Record value) throws NoEncodingException {
        Method accessor = component.getAccessor();
        if (!accessor.trySetAccessible()) {
            throw new NoEncodingException("the components of " + name + " cannot be read: open the"
                    + " package " + value.getClass().getPackageName() + " to the module "
                    + ValueEncoder.class.getModule().getName());
        }
        try {
            return accessor.invoke(value);
        } catch (IllegalAccessException | InvocationTargetException e) {
            throw new NoEncodingException("the component " + component.getName() + " of " + name
                    + " cannot be read: " + e);
        }
    }

    private void scalar(char type, long value) throws IOException {
        out.writeByte(type);
        out.writeLong(value);
    }

    /** Adds a text by its characters: UTF-8 has no encoding of unpaired surrogates. */
    private void text(char type, String text) throws IOException {
        scalar(type, text.length());
        out.writeChars(text);
    }
}
