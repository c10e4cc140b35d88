package dev.granary.coordinator;

import dev.granary.coordinator.config.GranaryConfig;

import java.nio.file.Path;

/** A process that compiles a kernel, and ends with or without a close. */
final class UseNotesProcess {
    private UseNotesProcess() {}

    /** Arguments: the directory, the endpoint, the kernel, whether it closes the cache. */
    public static void main(String[] arguments) throws Exception {
        GranaryConfig config = new TestNode(Path.of(arguments[0]), new FakeBucket())
                .config()
                .endpoint(arguments[1])
                .bucket(TestFleet.BUCKET + "?access=read")
                .flushLimit(TestNode.LONG)
                .build();
        Granary granary = Granary.open(config);
        granary.connect();
        granary.primitive(new FakeEngine("one"), FakeDescriptor.of(arguments[2]));
        if (Boolean.parseBoolean(arguments[3])) {
            System.in.read(); // until all processes are here
            granary.close();
        }
    }
}
