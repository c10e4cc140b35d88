/**
 * The demo: three machines as three processes, a bucket in the demo's own process, and real kernels
 * whose results are checked.
 */
@NullMarked
package dev.granary.demo;

import org.jspecify.annotations.NullMarked;
