package dev.granary.coordinator.publish;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** How this process names itself in the metadata of the entries that it compiles. */
final class ProducerName {
    private ProducerName() {}

    /** Found out at first use, on a thread that nobody waits for: asking for the host's name may ask a server. */
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
