package dev.granary.coordinator.observe;

import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.cache.support.Lazy;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.event.GranaryEvent;

import jdk.jfr.AnnotationElement;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.EventFactory;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.ValueDescriptor;

import org.jspecify.annotations.Nullable;

import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;

/**
 * Kind of an event, known when it begins, with its events in the flight recorder of the JVM. Their
 * fields are the components of the record that listeners receive, as texts and numbers; the
 * recorder itself stores times. The type is registered when the first event of its kind begins
 * while a recording runs.
 */
public enum EventKind {
    LOOKUP(GranaryEvent.Lookup.class, "A lookup of a program that was not in memory", true),
    // programs look up at each launch, hence disabled by default
    MEMORY_HIT(GranaryEvent.Lookup.class, "A lookup of a program that was in memory", true),
    LOAD(GranaryEvent.Load.class, "A lookup in the local tier or in a layer", false),
    RESTORE(
            GranaryEvent.Restore.class,
            "An attempt to restore a primitive from a stored entry",
            false),
    WAIT(
            GranaryEvent.Wait.class,
            "A wait for another process of the machine that compiles the same id",
            false),
    COMPILE(GranaryEvent.Compile.class, "A compile by a lookup", true),
    STORE(GranaryEvent.Store.class, "A store in the local tier", false),
    UPLOAD(GranaryEvent.Upload.class, "A store in a layer", false),
    EVICTION(
            GranaryEvent.Eviction.class,
            "An eviction from the local directory or from memory by this process",
            false);

    private record Registered(EventFactory factory, List<Field> fields) {}

    private record Field(ValueDescriptor descriptor, Function<Object, @Nullable Object> value) {}

    private final Class<? extends GranaryEvent> type;
    private final String description;
    private final boolean hasStackTrace;
    private final Lazy<Registered> registered = new Lazy<>(this::register);

    /**
     * Describes a kind of events; registers nothing.
     *
     * @param hasStackTrace whether the stack of the thread that ends an event tells its cause
     */
    EventKind(Class<? extends GranaryEvent> type, String description, boolean hasStackTrace) {
        this.type = type;
        this.description = description;
        this.hasStackTrace = hasStackTrace;
    }

    /** Returns true if a recording has this kind. */
    boolean isEnabled() {
        try {
            // registering starts the recorder, which takes some 100 ms
            return FlightRecorder.isInitialized()
                    && registered.get().factory().getEventType().isEnabled();
        } catch (Throwable e) { // an error too: the JVM generates a class
            Warnings.warn("events", "The flight recorder does not get an event: " + e);
            return false;
        }
    }

    /** Returns an event that has begun; null if no recording has this kind. */
    @Nullable
    Event begin() {
        if (!isEnabled()) {
            return null;
        }
        Event event = registered.get().factory().newEvent();
        event.begin();
        return event;
    }

    /** Commits an event of {@link #begin} with the values of {@code event}. */
    void commit(Event recorded, GranaryEvent event) {
        if (recorded.shouldCommit()) {
            List<Field> fields = registered.get().fields();
            for (int i = 0; i < fields.size(); i++) {
                recorded.set(i, fields.get(i).value().apply(event));
            }
            recorded.commit();
        }
    }

    private Registered register() {
        List<Field> fields = new ArrayList<>();
        for (RecordComponent component : type.getRecordComponents()) {
            addFields(component, fields);
        }
        String name = this == MEMORY_HIT ? "MemoryHit" : type.getSimpleName();
        // not before: each takes a new process some milliseconds
        List<AnnotationElement> annotations = List.of(
                new AnnotationElement(Name.class, "granary." + name),
                new AnnotationElement(Label.class, name),
                new AnnotationElement(Category.class, new String[] {"Granary"}),
                new AnnotationElement(Description.class, description),
                new AnnotationElement(StackTrace.class, hasStackTrace),
                new AnnotationElement(Enabled.class, this != MEMORY_HIT));
        return new Registered(
                EventFactory.create(
                        annotations, fields.stream().map(Field::descriptor).toList()),
                List.copyOf(fields));
    }

    private static void addFields(RecordComponent component, List<Field> fields) {
        Class<?> kind = component.getType();
        Method accessor = component.getAccessor();
        String name = component.getName();
        if (kind == StoreResult.class) {
            fields.add(text("outcome", event -> name((StoreResult) read(accessor, event))));
            fields.add(text("cause", event -> cause((StoreResult) read(accessor, event))));
        } else if (kind == long.class) {
            List<AnnotationElement> unit = name.equals("bytes")
                    ? List.of(new AnnotationElement(DataAmount.class, DataAmount.BYTES))
                    : List.of();
            fields.add(new Field(
                    new ValueDescriptor(long.class, name, unit), event -> read(accessor, event)));
        } else if (kind != Duration.class) { // the recorder has the duration itself
            fields.add(text(name, event -> text(read(accessor, event))));
        }
    }

    private static Field text(String name, Function<Object, @Nullable Object> value) {
        return new Field(new ValueDescriptor(String.class, name), value);
    }

    private static Object read(Method accessor, Object event) {
        try {
            return accessor.invoke(event);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e); // an accessor of a public record of this module
        }
    }

    private static @Nullable String text(Object value) {
        return switch (value) {
            case Optional<?> optional -> optional.map(EventKind::text).orElse(null);
            case Enum<?> constant -> constant.name().toLowerCase(Locale.ROOT);
            case Target target -> target.path();
            default -> value.toString();
        };
    }

    private static String name(StoreResult result) {
        return result.getClass().getSimpleName().toLowerCase(Locale.ROOT);
    }

    private static @Nullable String cause(StoreResult result) {
        return switch (result) {
            case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ -> null;
            case StoreResult.Refused refused -> refused.reason();
            case StoreResult.Failed(String cause) -> cause;
            case StoreResult.Unknown(String cause) -> cause;
        };
    }
}
