package dev.granary.coordinator.publish;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** Name of this process in the metadata of the entries that it compiles. */
final class ProducerName {
    // computed at the first use of the class: resolving the host name may query a server
    private static final String NAME = host() + "/" + ProcessHandle.current().pid();

    private ProducerName() {}

    static String name() {
        return NAME;
    }

    private static String host() {
        String named = System.getenv("HOSTNAME");
        if (named != null && !named.isBlank()) {
            return named;
        }
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "unknown";
        }
    }
}
