/** What a restore costs against compiling and against the driver's own restore. */
@NullMarked
package dev.granary.it.bench.restore;

import org.jspecify.annotations.NullMarked;
