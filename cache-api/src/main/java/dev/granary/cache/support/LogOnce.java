package dev.granary.cache.support;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One warning per kind of trouble and process: a broken disk must not fill the log as well. */
public final class LogOnce {
    private static final Logger LOG = LoggerFactory.getLogger("dev.granary");
    private static final Set<String> SAID = ConcurrentHashMap.newKeySet();

    private LogOnce() {}

    /** Says {@code message} if nothing of that kind was said before. */
    public static void warn(String kind, String message) {
        if (SAID.add(kind)) {
            LOG.warn("{}", message);
        }
    }
}
