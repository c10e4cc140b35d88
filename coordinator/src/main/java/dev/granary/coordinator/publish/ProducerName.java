package dev.granary.coordinator.publish;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** Name of this process in the metadata of the entries that it compiles. */
public final class ProducerName {
    private ProducerName() {}

    /**
     * Holder of the name, computed at first use: resolving the host name may query a server.
     * Lookups use it for trials of restores only.
     */
    private static final class Name {
        static final String VALUE = host() + "/" + ProcessHandle.current().pid();
    }

    static String name() {
        return Name.VALUE;
    }

    /**
     * Returns true if a process of this host compiled the entry of this name, by its own statement.
     * The host may have to be resolved, which may query a server.
     */
    public static boolean isOfThisHost(String producer) {
        String own = name().substring(0, name().lastIndexOf('/') + 1);
        return producer.startsWith(own) && producer.indexOf('/', own.length()) < 0;
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
