/** Tests of packs and manifests. */
@NullMarked
package dev.granary.s3.pack;

import org.jspecify.annotations.NullMarked;
