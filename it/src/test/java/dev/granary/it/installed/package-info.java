/** Tests of the artifacts as a stranger uses them: installed in a repository, without this tree. */
@NullMarked
package dev.granary.it.installed;

import org.jspecify.annotations.NullMarked;
