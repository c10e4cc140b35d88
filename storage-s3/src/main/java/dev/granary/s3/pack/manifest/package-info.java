/** Manifests: the numbered lists of a target's packs, their commits and the hint to the newest. */
@NullMarked
package dev.granary.s3.pack.manifest;

import org.jspecify.annotations.NullMarked;
