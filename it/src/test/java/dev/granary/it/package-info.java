/** Tests of the whole: the granary command as processes, real kernels, a real S3 server. */
@NullMarked
package dev.granary.it;

import org.jspecify.annotations.NullMarked;
