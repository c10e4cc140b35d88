/** The capabilities of a server: the probe, the marker with its result, and diagnostics. */
@NullMarked
package dev.granary.s3.probe;

import org.jspecify.annotations.NullMarked;
