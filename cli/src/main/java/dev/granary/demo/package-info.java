/**
 * The demo: three machines as three processes, one bucket inside the demo's own process, real kernels whose results are checked.
 */
@NullMarked
package dev.granary.demo;

import org.jspecify.annotations.NullMarked;
