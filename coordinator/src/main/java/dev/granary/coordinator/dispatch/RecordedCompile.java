package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.CompileEvent;
import dev.granary.coordinator.event.GranaryEvent;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;

import org.jspecify.annotations.Nullable;

/** Flight-recorder event of a compile. */
@Registered
@SuppressWarnings("UnusedVariable") // the flight recorder reads the fields
@Name("granary.Compile")
@Label("Compile")
@Description("A compile by a lookup")
@StackTrace
final class RecordedCompile extends RecordedEvent {
    @Label("Id")
    @Nullable
    String id;

    @Label("Target")
    @Nullable
    String target;

    @Label("Failure")
    @Nullable
    String failure;

    @Override
    void set(GranaryEvent event) {
        if (!(event instanceof CompileEvent compile)) {
            throw wrongKind(event);
        }
        id = compile.id();
        target = path(compile.target());
        failure = text(compile.failure());
    }
}
