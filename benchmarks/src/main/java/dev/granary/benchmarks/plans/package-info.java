/** Kernel plans, also tuned ones, against the naive kernel and the one of CLBlast. */
@NullMarked
package dev.granary.benchmarks.plans;

import org.jspecify.annotations.NullMarked;
