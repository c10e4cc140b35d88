/** Pictures of kernel plans: the loops with their caches, and the arrays with their blocks. */
@NullMarked
package dev.granary.plans.picture;

import org.jspecify.annotations.NullMarked;
