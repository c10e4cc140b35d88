/**
 * Sources of the kernels of a manifest: resolution to descriptors, with included files, and the
 * check of recorded ids.
 */
@NullMarked
package dev.granary.cli.source;

import org.jspecify.annotations.NullMarked;
