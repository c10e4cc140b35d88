/**
 * The contract suites of the store interfaces, with their test entries. Other modules and projects
 * run them from the test jar.
 */
@NullMarked
package dev.granary.cache.contract;

import org.jspecify.annotations.NullMarked;
