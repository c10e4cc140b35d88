/** Settings of the local tier, and the error for a directory that cannot carry one. */
@NullMarked
package dev.granary.local.config;

import org.jspecify.annotations.NullMarked;
