package dev.granary.coordinator;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** How this process names itself in the metadata of the entries that it compiles. */
final class Producer {
    private Producer() {}

    static String name() {
        return host() + "/" + ProcessHandle.current().pid();
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
