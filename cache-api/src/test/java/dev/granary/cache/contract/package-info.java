/** The contract suites of the plugs, and the material they work with; other modules and other projects run them from the test jar. */
@NullMarked
package dev.granary.cache.contract;

import org.jspecify.annotations.NullMarked;
