/** Integration tests: processes of the granary command, real kernels, a real S3 server. */
@NullMarked
package dev.granary.it;

import org.jspecify.annotations.NullMarked;
