package dev.granary.it.ship;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.SystemTool;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.SecurityContext;
import io.fabric8.kubernetes.api.model.ServiceAccount;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.batch.v1.CronJob;
import io.fabric8.kubernetes.api.model.batch.v1.Job;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Tests of the manifests in {@code deploy}, without a cluster. */
class DeployTest {
    /** Mappings whose keys are the user's. */
    private static final Set<String> FREE =
            Set.of("annotations", "data", "labels", "limits", "matchLabels", "requests");

    private static final Pattern QUOTED = Pattern.compile("`([A-Z][A-Z0-9_]+)[`=]");

    @TempDir
    private Path directory = Path.of("");

    /** What kustomize reads here. */
    private record Kustomization(
            String apiVersion,
            String kind,
            String namespace,
            List<String> resources,
            List<Image> images,
            List<Patch> patches) {
        private record Image(String name, String newName, String newTag) {}

        private record Patch(String path) {}
    }

    private static Kustomization kustomization() throws IOException {
        return KubernetesYaml.read(
                KubernetesYaml.documents(DeployFiles.kustomization()).getFirst(),
                Kustomization.class);
    }

    @Test
    @DisplayName("each document is of a known type, and has known fields with values of their"
            + " types only")
    void typed() throws IOException {
        assertEquals(
                Map.of(
                        "ConfigMap", 2L,
                        "CronJob", 2L,
                        "DaemonSet", 1L,
                        "Deployment", 1L,
                        "Job", 1L,
                        "Namespace", 1L,
                        "ServiceAccount", 3L),
                DeployFiles.objects().stream()
                        .collect(Collectors.groupingBy(
                                HasMetadata::getKind, Collectors.counting())));
    }

    @Test
    @DisplayName("a misspelt field is refused, wherever it is, except in labels and the like")
    void misspelt() throws IOException {
        int misspelt = 0;
        for (Path file : DeployFiles.yaml()) {
            for (Map<String, Object> document : KubernetesYaml.documents(Files.readString(file))) {
                misspelt += misspell(document, document, file.toString());
            }
        }
        assertTrue(misspelt > 350, "only " + misspelt + " fields");
    }

    private static int misspell(Map<String, Object> document, Object value, String place) {
        int misspelt = 0;
        if (value instanceof List<?> list) {
            for (Object each : list) {
                misspelt += misspell(document, each, place);
            }
        } else if (value instanceof Map<?, ?>) {
            Map<String, Object> mapping = KubernetesYaml.mapping(value);
            for (String key : List.copyOf(mapping.keySet())) {
                Object content = Objects.requireNonNull(mapping.remove(key));
                mapping.put(key + "x", content);
                assertThrows(
                        RuntimeException.class,
                        () -> KubernetesYaml.object(document),
                        () -> place + ": " + key + "x");
                mapping.remove(key + "x");
                mapping.put(key, content);
                misspelt++;
                if (!FREE.contains(key)) {
                    misspelt += misspell(document, content, place + ": " + key);
                }
            }
            KubernetesYaml.object(document);
        }
        return misspelt;
    }

    @Test
    @DisplayName("a number in place of a text, a text in place of a number and a key that stands"
            + " twice are refused")
    void otherTypes() {
        String map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {A: %s}}";
        assertEquals(1, KubernetesYaml.objects(map.formatted("'1'")).size());
        String job = "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec:"
                + " {backoffLimit: %s, template: {spec: {}}}}";
        assertEquals(1, KubernetesYaml.objects(job.formatted("1")).size());
        for (String wrong : List.of(
                map.formatted("1"),
                map.formatted("true"),
                map.formatted("b, A: c"),
                map.formatted("b").replace("v1", "v2"),
                job.formatted("'1'"))) {
            assertThrows(RuntimeException.class, () -> KubernetesYaml.objects(wrong), wrong);
        }
    }

    @Test
    @DisplayName("the kustomization names each file, and each image")
    void named() throws IOException {
        Kustomization all = kustomization();
        assertEquals("kustomize.config.k8s.io/v1beta1", all.apiVersion());
        assertEquals("Kustomization", all.kind());
        assertEquals(
                DeployFiles.yaml().stream()
                        .map(file -> file.getFileName().toString())
                        .collect(Collectors.toSet()),
                Stream.concat(
                                all.resources().stream(),
                                all.patches().stream().map(Kustomization.Patch::path))
                        .collect(Collectors.toSet()));
        assertEquals(
                containers().map(Container::getImage).collect(Collectors.toSet()),
                all.images().stream()
                        .map(image -> image.name() + ":" + image.newTag())
                        .collect(Collectors.toSet()));
        assertEquals(
                List.of(all.namespace()), DeployFiles.names("Namespace"), "that of all objects");
    }

    @Test
    @DisplayName("kustomize makes objects of all, in the namespace, with the image of the user and"
            + " the seed")
    void rendered() throws Exception {
        Assumptions.assumeTrue(
                SystemTool.run("kubectl", "kustomize", "--help"), "no kubectl on the PATH");
        for (Path file : DeployFiles.yaml()) {
            Files.copy(file, directory.resolve(file.getFileName()));
        }
        Files.writeString(
                directory.resolve("kustomization.yaml"),
                DeployFiles.kustomization()
                        .replace("newName: granary", "newName: registry.example.com/granary"));
        Path out = directory.resolve("out");
        assertEquals(
                0,
                new ProcessBuilder("kubectl", "kustomize", directory.toString())
                        .inheritIO()
                        .redirectOutput(out.toFile())
                        .start()
                        .waitFor());
        List<HasMetadata> rendered =
                KubernetesYaml.objects(Files.readString(out, StandardCharsets.UTF_8));
        assertEquals(DeployFiles.objects().size(), rendered.size());
        for (HasMetadata object : rendered) {
            String namespace = object.getMetadata().getNamespace();
            assertTrue("granary".equals(namespace) || object.getKind().equals("Namespace"));
        }
        List<PodSpec> pods = rendered.stream().flatMap(DeployTest::pod).toList();
        assertEquals(
                Set.of("registry.example.com/granary:0.1.0", "program:1.0"),
                pods.stream()
                        .flatMap(DeployFiles::containers)
                        .map(Container::getImage)
                        .collect(Collectors.toSet()));
        assertEquals(
                1,
                pods.stream()
                        .flatMap(pod -> pod.getVolumes().stream())
                        .filter(volume -> volume.getImage() != null)
                        .count());
    }

    private static Stream<PodSpec> pod(HasMetadata object) {
        return DeployFiles.pod(object).stream();
    }

    private static Stream<PodSpec> pods() throws IOException {
        return DeployFiles.objects().stream().flatMap(DeployTest::pod);
    }

    private static Stream<Container> containers() throws IOException {
        return pods().flatMap(DeployFiles::containers);
    }

    @Test
    @DisplayName("each account, ConfigMap with its keys, and volume that a pod names is there, and"
            + " each that is there is named")
    void references() throws IOException {
        Set<String> accounts = new TreeSet<>();
        Set<String> maps = new TreeSet<>();
        for (PodSpec pod : pods().toList()) {
            accounts.add(pod.getServiceAccountName());
            Set<String> mounted = new TreeSet<>();
            for (Container container : DeployFiles.containers(pod).toList()) {
                container.getVolumeMounts().stream()
                        .map(VolumeMount::getName)
                        .forEach(mounted::add);
                container.getEnvFrom().stream()
                        .filter(each -> each.getConfigMapRef() != null)
                        .map(each -> each.getConfigMapRef().getName())
                        .forEach(maps::add);
                for (EnvVar variable : container.getEnv()) {
                    if (variable.getValueFrom().getConfigMapKeyRef() != null) {
                        var key = variable.getValueFrom().getConfigMapKeyRef();
                        assertTrue(
                                DeployFiles.data(key.getName()).containsKey(key.getKey()),
                                key::toString);
                    }
                }
            }
            assertEquals(
                    pod.getVolumes().stream().map(Volume::getName).collect(Collectors.toSet()),
                    mounted);
            pod.getVolumes().stream()
                    .filter(volume -> volume.getConfigMap() != null)
                    .map(volume -> volume.getConfigMap().getName())
                    .forEach(maps::add);
        }
        assertEquals(accounts, Set.copyOf(DeployFiles.names("ServiceAccount")));
        assertEquals(maps, Set.copyOf(DeployFiles.names("ConfigMap")));
    }

    @Test
    @DisplayName("a secret is a reference; one that a pod needs is created by a command of the"
            + " page, and the others are optional and have the name of the account")
    void secrets() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "deploy.md"));
        for (PodSpec pod : pods().toList()) {
            for (Container container : DeployFiles.containers(pod).toList()) {
                container.getEnvFrom().stream()
                        .filter(each -> each.getSecretRef() != null)
                        .forEach(each -> {
                            assertEquals(
                                    pod.getServiceAccountName(),
                                    each.getSecretRef().getName());
                            assertTrue(each.getSecretRef().getOptional());
                        });
                for (EnvVar variable : container.getEnv()) {
                    assertNull(variable.getValue());
                    var secret = variable.getValueFrom().getSecretKeyRef();
                    if (secret != null) {
                        assertTrue(
                                page.contains("create secret generic " + secret.getName()
                                        + " --from-file=secret/" + secret.getKey()),
                                secret::toString);
                    }
                }
            }
        }
        for (Path file : DeployFiles.yaml()) {
            String text = Files.readString(file);
            assertFalse(text.contains("kind: Secret"), file::toString);
            assertFalse(text.contains(":private:"), file::toString);
        }
        for (String map : DeployFiles.names("ConfigMap")) {
            assertFalse(DeployFiles.data(map).containsKey("AWS_SECRET_ACCESS_KEY"), map);
            assertFalse(DeployFiles.data(map).containsKey("GRANARY_SIGNING_KEY"), map);
        }
    }

    @Test
    @DisplayName("each container has limits and a read-only root, and no rights; only the one that"
            + " makes the node's directory is root, and all others are one user")
    void containersAreConfined() throws IOException {
        for (PodSpec pod : pods().toList()) {
            assertEquals(1000, pod.getSecurityContext().getRunAsUser());
            assertTrue(pod.getSecurityContext().getRunAsNonRoot());
            assertEquals(
                    "RuntimeDefault",
                    pod.getSecurityContext().getSeccompProfile().getType());
            for (Container container : DeployFiles.containers(pod).toList()) {
                Map<String, Quantity> limits = container.getResources().getLimits();
                assertEquals(Set.of("cpu", "memory"), limits.keySet());
                assertEquals(
                        limits.keySet(), container.getResources().getRequests().keySet());
                SecurityContext security = container.getSecurityContext();
                assertTrue(security.getReadOnlyRootFilesystem());
                assertFalse(security.getAllowPrivilegeEscalation());
                assertEquals(List.of("ALL"), security.getCapabilities().getDrop());
                boolean isRoot = container.getName().equals("directory");
                assertEquals(isRoot ? (Long) 0L : null, security.getRunAsUser());
                assertEquals(isRoot ? Boolean.FALSE : null, security.getRunAsNonRoot());
                assertEquals(
                        isRoot ? List.of("CHOWN", "FOWNER") : List.of(),
                        security.getCapabilities().getAdd());
            }
        }
    }

    @Test
    @DisplayName("selectors select the pods of their own templates")
    void selectors() throws IOException {
        for (HasMetadata object : DeployFiles.objects()) {
            if (object instanceof DaemonSet set) {
                assertEquals(
                        set.getSpec().getSelector().getMatchLabels(),
                        set.getSpec().getTemplate().getMetadata().getLabels());
            } else if (object instanceof Deployment deployment) {
                assertEquals(
                        deployment.getSpec().getSelector().getMatchLabels(),
                        deployment.getSpec().getTemplate().getMetadata().getLabels());
            }
        }
    }

    @Test
    @DisplayName("jobs end, and never run twice at once; compact is daily, and collect weekly, 25"
            + " hours after it")
    void jobs() throws IOException {
        List<String> schedules = new ArrayList<>();
        for (HasMetadata object : DeployFiles.objects()) {
            if (object instanceof CronJob cron) {
                assertEquals("Forbid", cron.getSpec().getConcurrencyPolicy());
                assertEquals("Etc/UTC", cron.getSpec().getTimeZone());
                schedules.add(cron.getSpec().getSchedule());
            }
            if (object instanceof CronJob || object instanceof Job) {
                assertEquals("Never", pod(object).findFirst().orElseThrow().getRestartPolicy());
            }
        }
        assertEquals(List.of("17 3 * * 1-6", "17 4 * * 0"), schedules);
    }

    @Test
    @DisplayName("each command is one that granary understands, also those of the pages")
    void commands() throws IOException {
        List<String> names = new ArrayList<>();
        for (Container container : containers().toList()) {
            for (String text : container.getCommand().contains("sh")
                    ? container.getCommand()
                    : List.of(String.join(" ", container.getCommand()))) {
                names.addAll(GranaryCommands.parse(text));
            }
        }
        assertEquals(List.of("compact", "collect", "populate", "warm", "warm"), names);
        assertThrows(RuntimeException.class, () -> GranaryCommands.parse("granary warm --alll"));
        assertEquals(List.of("keys", "doctor", "doctor", "copy"), parsed("deploy.md"));
        assertTrue(parsed("operations.md").containsAll(List.of("populate", "copy", "collect")));
    }

    private static List<String> parsed(String page) throws IOException {
        return GranaryCommands.parse(
                GranaryCommands.blocks(Files.readString(Path.of("..", "docs", page))));
    }

    @Test
    @DisplayName("each variable is in docs/configuration.md, except the bucket that is written;"
            + " that is the one that programs read")
    void variables() throws IOException {
        Set<String> known = QUOTED.matcher(
                        Files.readString(Path.of("..", "docs", "configuration.md")))
                .results()
                .map(each -> each.group(1))
                .collect(Collectors.toSet());
        Map<String, String> data = DeployFiles.data("granary");
        Set<String> names = new TreeSet<>(data.keySet());
        containers()
                .flatMap(container -> container.getEnv().stream())
                .map(EnvVar::getName)
                .forEach(names::add);
        names.removeAll(known);
        assertEquals(Set.of("PUBLISH_BUCKET"), names);
        String reading = Objects.requireNonNull(data.get("GRANARY_BUCKET"));
        assertEquals(data.get("PUBLISH_BUCKET"), reading.replace("access=read&", ""));
        String seeded = DeployFiles.containers(
                        DeployFiles.pod(KubernetesYaml.objects(Files.readString(DeployFiles.seed()))
                                        .getFirst())
                                .orElseThrow())
                .flatMap(container -> container.getEnv().stream())
                .findFirst()
                .orElseThrow()
                .getValue();
        assertTrue(seeded.endsWith(", " + reading), seeded);
    }

    @Test
    @DisplayName("the accounts have a web identity")
    void webIdentity() throws IOException {
        for (HasMetadata object : DeployFiles.objects()) {
            if (object instanceof ServiceAccount account) {
                assertEquals(
                        "arn:aws:iam::111122223333:role/"
                                + account.getMetadata().getName(),
                        account.getMetadata().getAnnotations().get("eks.amazonaws.com/role-arn"));
            }
        }
    }
}
