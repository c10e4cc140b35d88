package dev.granary.s3.history;

import java.util.function.Supplier;

/** The course of a history or scenario, which its machines ask before each request. */
interface Course {
    /** Adds a line to the trace. */
    void trace(Supplier<String> line);

    /** Lets other machines run before a request. */
    void yieldTurn(Machine machine, String method, String key);

    /** Returns the fault of a request. */
    Disturbance fault(Machine machine, String method, String key);

    /** Returns true if the next response has the date of the server's second clock. */
    default boolean hasOtherClock() {
        return false;
    }

    /** Returns the number of changes by which a listing lags. */
    default int lag() {
        return 1;
    }
}
