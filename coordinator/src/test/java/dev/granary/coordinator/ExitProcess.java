package dev.granary.coordinator;

import java.nio.file.Path;
import java.time.Duration;

/** A process that compiles kernels which are not stored yet, and ends without a close. */
final class ExitProcess {
    static final int KERNELS = 30;

    private ExitProcess() {}

    /** Returns the recording of the processes of a directory. */
    static Path recording(Path directory) {
        return directory.resolveSibling("recording.toml");
    }

    /** The ways in which it ends. */
    enum End {
        MAIN_RETURNS,
        SYSTEM_EXIT,
        SIGTERM,
        HALTS,
        /** With an action of the driver that does not end, and a short flush limit. */
        DRIVER_HANGS
    }

    /** Arguments: the directory, the end. */
    public static void main(String[] arguments) throws Exception {
        End end = End.valueOf(arguments[1]);
        FakeEngine engine = new FakeEngine("one");
        engine.binariesTime = FakeEngine.BinariesTime.AFTER_LAUNCH;
        if (end == End.DRIVER_HANGS) {
            engine.whenTaken = () -> {
                try {
                    Thread.currentThread().join();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            };
        }
        Granary granary = Granary.open(new TestNode(Path.of(arguments[0]), new FakeBucket())
                .config()
                .record(recording(Path.of(arguments[0])))
                .flushLimit(end == End.DRIVER_HANGS ? Duration.ofSeconds(1) : TestNode.LONG)
                .build());
        for (int i = 0; i < KERNELS; i++) {
            granary.primitive(engine, FakeDescriptor.of("kernel " + i));
        }
        switch (end) {
            case MAIN_RETURNS, DRIVER_HANGS -> {}
            case SYSTEM_EXIT -> System.exit(3);
            case SIGTERM -> {
                new ProcessBuilder("kill", "" + ProcessHandle.current().pid()).start();
                Thread.currentThread().join();
            }
            case HALTS -> Runtime.getRuntime().halt(4);
        }
    }
}
