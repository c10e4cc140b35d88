/** The contract suite of engines, which every backend passes. */
@NullMarked
package dev.granary.gpu.contract;

import org.jspecify.annotations.NullMarked;
