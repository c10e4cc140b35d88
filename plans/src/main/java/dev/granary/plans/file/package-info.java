/** Kernel plans and spaces of plans in TOML files. */
@NullMarked
package dev.granary.plans.file;

import org.jspecify.annotations.NullMarked;
