/** Configuration of the local tier, and the exception for an unusable directory. */
@NullMarked
package dev.granary.local.config;

import org.jspecify.annotations.NullMarked;
