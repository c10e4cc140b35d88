package dev.granary.s3.publish;

import dev.granary.cache.support.Ticker;
import dev.granary.s3.probe.Capabilities;
import dev.granary.s3.resilience.RequestCounters;
import dev.granary.s3.resilience.WriteSuspension;
import dev.granary.s3.store.ObjectStore;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * The collaborators of all publications to one bucket.
 *
 * @param store sends the requests
 * @param capabilities the conditional writes that the server supports
 * @param suspension suspends writes after the bucket refused one
 * @param retention the age at which a lifecycle rule may delete objects; zero if there is none
 * @param counters the counters of the bucket tier
 * @param ticker the clock, which also waits between attempts
 * @param random source of put ids and pauses
 */
record PublishContext(
        ObjectStore store,
        Capabilities capabilities,
        WriteSuspension suspension,
        Duration retention,
        RequestCounters counters,
        Ticker ticker,
        RandomGenerator random) {}
