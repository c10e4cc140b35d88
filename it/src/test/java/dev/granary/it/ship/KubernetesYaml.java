package dev.granary.it.ship;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Namespace;
import io.fabric8.kubernetes.api.model.ServiceAccount;
import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.batch.v1.CronJob;
import io.fabric8.kubernetes.api.model.batch.v1.Job;

import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.cfg.MapperConfig;
import tools.jackson.databind.introspect.Annotated;
import tools.jackson.databind.introspect.JacksonAnnotationIntrospector;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.type.LogicalType;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * Reads YAML of Kubernetes as strictly as its server does: an unknown field, a key that stands
 * twice, and a number in place of a text are refused.
 */
final class KubernetesYaml {
    private static final Map<String, Class<? extends HasMetadata>> KINDS = Stream.of(
                    ConfigMap.class,
                    CronJob.class,
                    DaemonSet.class,
                    Deployment.class,
                    Job.class,
                    Namespace.class,
                    ServiceAccount.class)
            .collect(Collectors.toMap(Class::getSimpleName, Function.identity()));

    private static final JsonMapper STRICT = JsonMapper.builder()
            .annotationIntrospector(new WithoutAnySetter())
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_IGNORED_PROPERTIES)
            .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
            .withCoercionConfig(LogicalType.Textual, coercion -> Stream.of(
                            CoercionInputShape.Boolean,
                            CoercionInputShape.Float,
                            CoercionInputShape.Integer)
                    .forEach(shape -> coercion.setCoercion(shape, CoercionAction.Fail)))
            .build();

    private KubernetesYaml() {}

    /** The types keep unknown fields in a map, by a setter for any field. */
    private static final class WithoutAnySetter extends JacksonAnnotationIntrospector {
        private static final long serialVersionUID = 1;

        @Override
        public Boolean hasAnySetter(MapperConfig<?> config, Annotated annotated) {
            return false;
        }
    }

    /** Returns the documents of a text. */
    static List<Map<String, Object>> documents(String text) {
        LoaderOptions options = new LoaderOptions();
        options.setAllowDuplicateKeys(false);
        Iterable<Object> documents = new Yaml(new SafeConstructor(options)).loadAll(text);
        return StreamSupport.stream(documents.spliterator(), false)
                .map(KubernetesYaml::mapping)
                .toList();
    }

    /** Returns a mapping of YAML, whose keys are texts. */
    @SuppressWarnings("unchecked") // of untyped YAML
    static Map<String, Object> mapping(Object value) {
        return (Map<String, Object>) value;
    }

    /** Returns the objects of a text. */
    static List<HasMetadata> objects(String text) {
        return documents(text).stream().map(KubernetesYaml::object).toList();
    }

    /**
     * Returns the object of a document.
     *
     * @throws RuntimeException if it has an unknown kind or field, or a value of another type
     */
    static HasMetadata object(Map<String, Object> document) {
        String kind = String.valueOf(document.get("kind"));
        HasMetadata object = read(
                document, Objects.requireNonNull(KINDS.get(kind), () -> "unknown kind " + kind));
        String version = HasMetadata.getApiVersion(object.getClass());
        if (!object.getApiVersion().equals(version)) {
            throw new IllegalArgumentException(kind + " is of " + version);
        }
        return object;
    }

    /** Returns a document as a value of a type, without unknown fields. */
    static <T> T read(Map<String, Object> document, Class<T> type) {
        return STRICT.convertValue(document, type);
    }
}
