package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KernelDescriptorTest {
    private static final Target LAZY = IdPrinter.LAZY;
    private static final Target EAGER = new Target(Backend.OPENCL, "nvidia", "device", "driver");
    private static final String SOURCE = "kernel void k() {}";

    private static KernelDescriptor.Builder base(Target target) {
        return KernelDescriptor.builder(target, "name").source(SOURCE).header("h.clh", "int h;").options("-DX=1").entry("k");
    }

    private static KernelDescriptor with(UnaryOperator<KernelDescriptor.Builder> change) {
        return change.apply(KernelDescriptor.builder(LAZY, "name")).build();
    }

    private static void assertSame(KernelDescriptor one, KernelDescriptor other) {
        assertEquals(one.getId(), other.getId());
        assertEquals(one, other);
        assertEquals(one.hashCode(), other.hashCode());
    }

    private static void assertDifferent(KernelDescriptor one, KernelDescriptor other) {
        assertNotEquals(one.getId(), other.getId());
        assertNotEquals(one, other);
    }

    @Test
    @DisplayName("K1 the same descriptor has the same bytes in many threads")
    void sameInThreads() throws Exception {
        KernelDescriptor shared = IdPrinter.everyField();
        try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
            List<Callable<String>> asks = new ArrayList<>();
            for (int i = 0; i < 64; i++) {
                asks.add(() -> IdPrinter.hex(shared));
                asks.add(() -> IdPrinter.hex(IdPrinter.everyField()));
            }
            Set<String> ids = new HashSet<>();
            for (Future<String> answer : threads.invokeAll(asks)) {
                ids.add(answer.get());
            }
            assertEquals(Set.of(IdPrinter.hex(IdPrinter.everyField())), ids);
        }
    }

    @Test
    @DisplayName("K1 K12 the same bytes in a JVM with another directory, locale, encoding and time zone")
    void sameInProcesses(@TempDir Path directory) throws Exception {
        String output = new Child(IdPrinter.class, directory)
                .flag("-Duser.language=tr").flag("-Duser.country=TR").flag("-Duser.timezone=Asia/Kathmandu")
                .flag("-Dfile.encoding=ISO-8859-1").flag("-Djava.io.tmpdir=" + directory)
                .set("LC_ALL", "C").run();
        assertEquals(IdPrinter.hex(IdPrinter.everyField()), Child.value(output, "id"));
    }

    @Test
    @DisplayName("K2 every field changed alone changes the id and the equality")
    void everyFieldCounts() {
        List<KernelDescriptor> all = new ArrayList<>();
        all.add(base(LAZY).build());
        for (Target target : List.of(new Target(Backend.LEVEL_ZERO, LAZY.vendor(), "device", "driver"),
                EAGER, new Target(Backend.OPENCL, LAZY.vendor(), "devicf", "driver"),
                new Target(Backend.OPENCL, LAZY.vendor(), "device", "drives"))) {
            all.add(base(target).build());
        }
        all.add(KernelDescriptor.builder(LAZY, "name").source(SOURCE + " ").header("h.clh", "int h;").options("-DX=1").entry("k").build());
        all.add(base(LAZY).source("int more;").build());
        all.add(base(LAZY).header("h.clh", "int H;").build());
        all.add(base(LAZY).header("i.clh", "int h;").build());
        all.add(base(LAZY).includeDirectory("sub").build());
        all.add(base(LAZY).includeDirectory("sub2").build());
        all.add(base(LAZY).options("-DY").build());
        all.add(base(LAZY).entry("j").build());
        all.add(base(LAZY).launch(Geometry.of(8)).build());
        all.add(base(LAZY).launch(Geometry.of(8).local(4)).build());
        all.add(base(LAZY).launch("k", Geometry.of(8)).build());
        all.add(base(LAZY).extraDigest("e").build());
        all.add(base(LAZY).tag("e").build());
        Set<Id> ids = new HashSet<>();
        all.forEach(descriptor -> ids.add(descriptor.getId()));
        assertEquals(all.size(), ids.size());
        assertEquals(all.size(), new HashSet<>(all).size());
    }

    @Test
    @DisplayName("K3 moving text over a border of two fields changes the id, NULs too")
    void framed() {
        assertDifferent(with(b -> b.source("int a;int b;").source("int c;")), with(b -> b.source("int a;").source("int b;int c;")));
        assertDifferent(with(b -> b.source("int a;").source("int b;")), with(b -> b.source("int a;int b;")));
        assertDifferent(with(b -> b.source("a").source("")), with(b -> b.source("a")));
        assertDifferent(with(b -> b.source("a").header("x", "yz")), with(b -> b.source("a").header("xy", "z")));
        assertDifferent(with(b -> b.source("a").header("x", "y").header("z", "")), with(b -> b.source("a").header("x", "").header("z", "y")));
        assertDifferent(with(b -> b.source("a").header("x", "y")), with(b -> b.source("a").source("x").source("y")));
        assertDifferent(with(b -> b.source("a\0").source("b")), with(b -> b.source("a").source("\0b")));
        assertDifferent(with(b -> b.source("a\0b")), with(b -> b.source("ab")));
        assertDifferent(with(b -> b.source("a").tag("t\0u")), with(b -> b.source("a").tag("t")));
        assertDifferent(with(b -> b.source("a").options("-DA -DB")), with(b -> b.source("a").options("'-DA -DB'")));
        assertDifferent(with(b -> b.source("a").entry("x", "y")), with(b -> b.source("a").entry("xy")));
        assertDifferent(with(b -> b.source("a").tag("t")), with(b -> b.source("a").extraDigest("t")));
    }

    @Test
    @DisplayName("K4 the name for people does not enter the id")
    void nameIsForPeople() {
        assertSame(KernelDescriptor.builder(LAZY, "one").source("a").build(), KernelDescriptor.builder(LAZY, "two").source("a").build());
    }

    @Test
    @DisplayName("K5 spellings of one thing give one id: options, order of headers and entries, repeated entries")
    void equivalentSpellings() {
        assertSame(with(b -> b.source("a").options("-DX=1 -DY")), with(b -> b.source("a").options("-D X=1").options(" \t-D   Y\n")));
        assertSame(with(b -> b.source("a").options("-DX=\"a b\"")), with(b -> b.source("a").options("'-DX=a b'")));
        assertSame(with(b -> b.source("a").options("")), with(b -> b.source("a")));
        assertSame(with(b -> b.source("a").header("x", "1").header("y", "2")), with(b -> b.source("a").header("y", "2").header("x", "1")));
        assertSame(with(b -> b.source("a").entry("x", "y")), with(b -> b.source("a").entry("y").entry("x").entry("x")));
        assertSame(with(b -> b.source("a").launch("x", Geometry.of(1)).launch("y", Geometry.of(2))),
                with(b -> b.source("a").launch("y", Geometry.of(2)).launch("x", Geometry.of(1))));
    }

    @Test
    @DisplayName("K5 the order of options and of include directories counts: a later one may override")
    void orderedLists() {
        assertDifferent(with(b -> b.source("a").options("-DX -UX")), with(b -> b.source("a").options("-UX -DX")));
        assertDifferent(with(b -> b.source("a").includeDirectory("x").includeDirectory("y")),
                with(b -> b.source("a").includeDirectory("y").includeDirectory("x")));
    }

    @Test
    @DisplayName("K9 a header edited between two builds of identical source does not hit")
    void editedHeader() {
        assertDifferent(with(b -> b.source("#include \"n.clh\"").header("n.clh", "#define N 1")),
                with(b -> b.source("#include \"n.clh\"").header("n.clh", "#define N 2")));
    }

    @Test
    @DisplayName("K12 line endings do not count, in sources and in headers")
    void lineEndings() {
        KernelDescriptor unix = with(b -> b.source("a\nb\n").header("h", "c\nd"));
        assertSame(unix, with(b -> b.source("a\r\nb\r\n").header("h", "c\r\nd")));
        assertSame(unix, with(b -> b.source("a\rb\r").header("h", "c\rd")));
        assertDifferent(unix, with(b -> b.source("a\nb").header("h", "c\nd")));
    }

    @Test
    @DisplayName("K14 a tag enters the id")
    void tag() {
        assertDifferent(with(b -> b.source("a").tag("x")), with(b -> b.source("a").tag("y")));
        assertSame(with(b -> b.source("a").tag("")), with(b -> b.source("a")));
    }

    @Test
    @DisplayName("K15 a key of many KiB works, its name has a fixed length")
    void longKeys() {
        Id id = with(b -> b.source("int a;\n".repeat(1 << 17))).getId();
        assertTrue(id.length() > 7 << 17);
        assertEquals(64, id.hash().hex().length());
    }

    @Test
    @DisplayName("K2 announced launches enter the id only where the driver compiles at launch")
    void launchesOfLazyDrivers() {
        assertSame(base(EAGER).launch(Geometry.of(8)).build(), base(EAGER).build());
        assertDifferent(base(LAZY).launch(Geometry.of(8)).build(), base(LAZY).build());
        assertTrue(base(EAGER).launch(Geometry.of(8)).build().launches().isEmpty());
    }

    @Test
    @DisplayName("O4 the readable key names the fields of the id")
    void readableKey() {
        String key = IdPrinter.everyField().readableKey();
        for (String part : List.of("TITLE", "iI.clh", "sub/b.clh", "-cl-mad-enable", "k z", "k@4x4/*", "*@1234567/1")) {
            assertTrue(key.contains(part), key);
        }
    }

    @Test
    @DisplayName("A descriptor without source, with an absolute or an impossible header place stops at once")
    void refused() {
        assertThrows(IllegalArgumentException.class, () -> KernelDescriptor.builder(LAZY, "x").build());
        assertThrows(IllegalArgumentException.class, () -> with(b -> b.source(" \n")));
        for (String place : List.of("", " ", "/etc/x", "a\0b")) {
            assertThrows(IllegalArgumentException.class, () -> with(b -> b.source("a").header(place, "")), place);
            assertThrows(IllegalArgumentException.class, () -> with(b -> b.source("a").includeDirectory(place)), place);
        }
    }
}
