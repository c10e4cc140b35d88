/** Tests of what runs Granary elsewhere: the manifests of Kubernetes and the jobs of pipelines. */
@NullMarked
package dev.granary.it.ship;

import org.jspecify.annotations.NullMarked;
