/** Plan files: a loop nest, its schedule and caches, and the space of a tuning. */
@NullMarked
package dev.granary.cli.plan;

import org.jspecify.annotations.NullMarked;
