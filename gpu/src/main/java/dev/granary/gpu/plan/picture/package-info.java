/** Pictures of kernel plans: the loops with their caches, and the arrays with their blocks. */
@NullMarked
package dev.granary.gpu.plan.picture;

import org.jspecify.annotations.NullMarked;
