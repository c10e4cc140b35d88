/** The memory budgets of constant tensors by kind of engine, their policies and their text form. */
@NullMarked
package dev.granary.cache.constant.config;

import org.jspecify.annotations.NullMarked;
