/**
 * Kernel plans: a scheduled loop nest, bound to work-groups and work-items, with caches of its
 * arrays, emitted as OpenCL C.
 *
 * <p>The rules of the caches are those of Accera's manual, section 6, "Plans: caching".
 */
@NullMarked
package dev.granary.plans;

import org.jspecify.annotations.NullMarked;
