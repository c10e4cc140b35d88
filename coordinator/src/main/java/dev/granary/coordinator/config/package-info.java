/** Configuration: code, else environment, else file, else defaults; a wrong value stops with a message that says what to change. */
@NullMarked
package dev.granary.coordinator.config;

import org.jspecify.annotations.NullMarked;
