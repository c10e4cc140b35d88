package dev.granary.it.ship;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.batch.v1.CronJob;
import io.fabric8.kubernetes.api.model.batch.v1.Job;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** The files in {@code deploy}. */
final class DeployFiles {
    private static final Path DEPLOY = Path.of("..", "deploy");

    private DeployFiles() {}

    /** Returns the kustomization with the part that a user may uncomment. */
    static String kustomization() throws IOException {
        return Files.readString(DEPLOY.resolve("kustomization.yaml"))
                .replaceAll("(?m)^# (patches:| +- path: )", "$1");
    }

    /** Returns the files with objects of Kubernetes. */
    static List<Path> yaml() throws IOException {
        try (Stream<Path> files = Files.list(DEPLOY)) {
            return files.filter(file -> !file.endsWith("kustomization.yaml"))
                    .sorted()
                    .toList();
        }
    }

    /** Returns the patch that adds a seed to the program. */
    static Path seed() {
        return DEPLOY.resolve("seed.yaml");
    }

    /** Returns the objects of all files but the patch. */
    static List<HasMetadata> objects() throws IOException {
        List<HasMetadata> objects = new ArrayList<>();
        for (Path file : yaml()) {
            if (!file.equals(seed())) {
                objects.addAll(KubernetesYaml.objects(Files.readString(file)));
            }
        }
        return objects;
    }

    /** Returns the names of the objects of a kind. */
    static List<String> names(String kind) throws IOException {
        return objects().stream()
                .filter(object -> object.getKind().equals(kind))
                .map(object -> object.getMetadata().getName())
                .toList();
    }

    /** Returns the content of a ConfigMap. */
    static Map<String, String> data(String name) throws IOException {
        return objects().stream()
                .filter(object -> object.getMetadata().getName().equals(name))
                .filter(ConfigMap.class::isInstance)
                .map(object -> ((ConfigMap) object).getData())
                .findFirst()
                .orElseThrow();
    }

    /** Returns the pod that an object makes, if it makes one. */
    static Optional<PodSpec> pod(HasMetadata object) {
        return switch (object) {
            case CronJob cron ->
                Optional.of(
                        cron.getSpec().getJobTemplate().getSpec().getTemplate().getSpec());
            case DaemonSet set -> Optional.of(set.getSpec().getTemplate().getSpec());
            case Deployment deployment ->
                Optional.of(deployment.getSpec().getTemplate().getSpec());
            case Job job -> Optional.of(job.getSpec().getTemplate().getSpec());
            default -> Optional.empty();
        };
    }

    /** Returns the containers of a pod in the order of their start. */
    static Stream<Container> containers(PodSpec pod) {
        return Stream.concat(pod.getInitContainers().stream(), pod.getContainers().stream());
    }
}
