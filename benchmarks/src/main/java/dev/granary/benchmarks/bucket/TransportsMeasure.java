package dev.granary.benchmarks.bucket;

import dev.granary.benchmarks.Section;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.store.ObjectStore;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Client libraries: how soon a new process has its first object, and how many objects a running one reads. Each in JVMs of its own. */
final class TransportsMeasure {
    private static final String PREFIX = "transports";
    private static final String FIRST = "transports-first";
    private static final int OBJECTS = 256;
    private static final int OBJECT_BYTES = 32 << 10;
    private static final int FIRST_BYTES = 64 << 10;
    private static final int WARM_UP = 4; // times as long as a turn
    private static final List<Integer> AT_ONCE = List.of(1, 32, 64);

    private final Settings settings;
    private final Workplace workplace;

    TransportsMeasure(Settings settings, Workplace workplace) {
        this.settings = settings;
        this.workplace = workplace;
    }

    /** Writes the objects that are read. */
    void fill(Way way) throws IOException, InterruptedException {
        SplittableRandom random = new SplittableRandom(settings.seed());
        List<byte[]> bodies = new ArrayList<>();
        for (int i = 0; i < OBJECTS; i++) {
            byte[] body = new byte[OBJECT_BYTES];
            random.nextBytes(body);
            bodies.add(body);
        }
        byte[] first = new byte[FIRST_BYTES];
        random.nextBytes(first);
        try (ObjectStore store = ObjectStoreFactory.open(way.config("").build())) {
            Team.run(AT_ONCE.getLast(), OBJECTS, index -> Filling.put(store, Turn.key(PREFIX, index), bodies.get(index)));
            Filling.put(store, FIRST, first);
        }
    }

    /** From before the start of a JVM until it has read an object of 64 KiB. */
    Section first(Way way) throws IOException, InterruptedException {
        Sample alone = new Sample();
        Map<Transport, Sample> millis = new EnumMap<>(Transport.class);
        int starts = 2 * settings.rounds() - 1;
        for (int round = 0; round < starts; round++) {
            workplace.say("transports, new processes, round " + (round + 1) + " of " + starts);
            alone.add(start(way));
            for (Transport transport : Transport.values()) {
                millis.computeIfAbsent(transport, _ -> new Sample())
                        .add(start(way, transport.name(), way.endpoint().toString(), way.bucket(), FIRST));
            }
        }
        Section section = new Section("first-object", "transports: a new process until it has an object of 64 KiB, ms; medians of " + starts,
                new Section.Column("millis", "ms", 0), new Section.Column("withoutJvmMillis", "without JVM", 0));
        section.row("(JVM alone)", alone.median(), 0);
        millis.forEach((transport, sample) -> section.row(transport.label(), sample.median(), sample.median() - alone.median()));
        section.note("the JVM flags of the launcher: C1 alone, the serial collector; no AOT cache. The class path of the benchmarks, for all of them alike");
        return section;
    }

    private double start(Way way, String... arguments) throws IOException {
        long start = System.nanoTime();
        Workplace.Started started = workplace.start(Workplace.java(Workplace.COMMAND_FLAGS, FirstObject.class, arguments),
                workplace.environment(way.credentials()));
        try (BufferedReader out = started.process().inputReader(StandardCharsets.UTF_8)) {
            String line = out.readLine();
            double millis = (System.nanoTime() - start) / 1e6;
            if (line == null || (arguments.length > 0 && Integer.parseInt(line) != FIRST_BYTES)) {
                throw new IOException("a new process of " + String.join(" ", arguments) + " read nothing: " + started.errors());
            }
            return millis;
        } finally {
            started.process().destroyForcibly();
        }
    }

    /** How many objects of 32 KiB each transport reads by that way. */
    Section throughput(Way way) throws IOException {
        Map<Transport, Conversation> processes = new LinkedHashMap<>();
        Map<Transport, List<Figures>> figures = new LinkedHashMap<>();
        try {
            for (Transport transport : Transport.values()) {
                processes.put(transport, Conversation.start(workplace, Workplace.java(List.of("-Dhttp.maxConnections=" + AT_ONCE.getLast()),
                        ThroughputProcess.class, transport.name(), way.endpoint().toString(), way.bucket(), PREFIX, Integer.toString(OBJECTS)),
                        workplace.environment(way.credentials())));
                figures.put(transport, AT_ONCE.stream().map(_ -> new Figures()).toList());
            }
            round(way, WARM_UP * settings.turnMillis(), processes, null);
            for (int round = 0; round < settings.rounds(); round++) {
                round(way, settings.turnMillis(), processes, figures);
            }
        } finally {
            for (Conversation process : processes.values()) {
                process.close();
            }
        }
        return section(way, figures);
    }

    private void round(Way way, int millis, Map<Transport, Conversation> processes, @Nullable Map<Transport, List<Figures>> figures)
            throws IOException {
        workplace.say("transports, " + way.label() + (figures == null ? ": warming up" : ""));
        for (int level = 0; level < AT_ONCE.size(); level++) {
            for (Map.Entry<Transport, Conversation> each : processes.entrySet()) {
                String[] answer = each.getValue().ask(AT_ONCE.get(level) + " " + millis).split(" ");
                if (figures != null) {
                    figures.getOrDefault(each.getKey(), List.of()).get(level).add(answer);
                }
            }
        }
    }

    private Section section(Way way, Map<Transport, List<Figures>> figures) {
        Section section = new Section("transports-" + way.name(),
                "transports: objects of 32 KiB, " + way.label() + ", so many at once; medians of " + settings.rounds() + " rounds",
                new Section.Column("p50Micros1", "1: p50 us", 0), new Section.Column("p99Micros1", "p99 us", 0),
                new Section.Column("perSecond32", "32: /s", 0), new Section.Column("p50Millis32", "p50 ms", 1),
                new Section.Column("p99Millis32", "p99 ms", 1), new Section.Column("perSecond64", "64: /s", 0),
                new Section.Column("p50Millis64", "p50 ms", 1), new Section.Column("p99Millis64", "p99 ms", 1));
        figures.forEach((transport, levels) -> section.row(transport.label(), levels.get(0).p50.median(), levels.get(0).p99.median(),
                levels.get(1).rate.median(), levels.get(1).p50.median() / 1e3, levels.get(1).p99.median() / 1e3,
                levels.get(2).rate.median(), levels.get(2).p50.median() / 1e3, levels.get(2).p99.median() / 1e3));
        return section;
    }

    /** What one transport reached with so many at once, round by round. */
    private static final class Figures {
        private final Sample rate = new Sample();
        private final Sample p50 = new Sample();
        private final Sample p99 = new Sample();

        void add(String[] answer) {
            rate.add(Double.parseDouble(answer[0]));
            p50.add(Double.parseDouble(answer[1]));
            p99.add(Double.parseDouble(answer[2]));
        }
    }
}
