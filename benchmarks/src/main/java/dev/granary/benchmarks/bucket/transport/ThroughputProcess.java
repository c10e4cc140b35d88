package dev.granary.benchmarks.bucket.transport;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;

/**
 * A JVM that reads objects by one transport. Each line of its standard input contains the
 * concurrency and the duration.
 */
public final class ThroughputProcess {
    private ThroughputProcess() {}

    /**
     * Arguments: transport, endpoint, bucket, prefix, number of objects. Prints objects per second,
     * and the median and p99 in microseconds.
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        int objects = Integer.parseInt(arguments[4]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        ObjectReader reader = TransportCandidate.valueOf(arguments[0])
                .open(TransportCandidate.connection(arguments[1], arguments[2]));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] order = line.split(" ");
            ThroughputTurn turn = new ThroughputTurn(reader, arguments[3], objects);
            turn.play(
                    Integer.parseInt(order[0]),
                    TimeUnit.MILLISECONDS.toNanos(Long.parseLong(order[1])));
            System.out.println(turn.perSecond() + " " + turn.micros().median() + " "
                    + turn.micros().quantile(0.99));
        }
        Runtime.getRuntime().halt(0); // some clients keep the process up for half a minute
    }
}
