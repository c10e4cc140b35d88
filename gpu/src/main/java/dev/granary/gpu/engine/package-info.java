/**
 * The time in which the native objects of an engine may be used, and their release, each exactly
 * once: by the owner, or with the engine.
 */
@NullMarked
package dev.granary.gpu.engine;

import org.jspecify.annotations.NullMarked;
