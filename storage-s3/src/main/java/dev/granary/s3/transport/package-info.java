/**
 * Common parts of the transports: limits of bodies and listings, and the classification of
 * responses.
 */
@NullMarked
package dev.granary.s3.transport;

import org.jspecify.annotations.NullMarked;
