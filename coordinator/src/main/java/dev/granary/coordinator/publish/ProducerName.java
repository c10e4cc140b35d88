package dev.granary.coordinator.publish;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** Name of this process in the metadata of the entries that it compiles. */
final class ProducerName {
    private ProducerName() {}

    /** Holder of the name, computed at first use: resolving the host name may query a server. */
    private static final class Name {
        static final String VALUE = host() + "/" + ProcessHandle.current().pid();
    }

    static String name() {
        return Name.VALUE;
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
