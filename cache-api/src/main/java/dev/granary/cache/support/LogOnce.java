package dev.granary.cache.support;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A logger of one warning per kind of failure and process, so that a broken disk does not also
 * flood the log.
 */
public final class LogOnce {
    private static final Logger LOG = LoggerFactory.getLogger("dev.granary");
    private static final Set<String> LOGGED = ConcurrentHashMap.newKeySet();

    private LogOnce() {}

    /** Logs {@code message} as a warning, unless a message of this kind was logged before. */
    public static void warn(String kind, String message) {
        if (LOGGED.add(kind)) {
            LOG.warn("{}", message);
        }
    }
}
