/** Parsers of the texts in plans: statements of nests, and constraints of spaces. */
@NullMarked
package dev.granary.plans.expression;

import org.jspecify.annotations.NullMarked;
