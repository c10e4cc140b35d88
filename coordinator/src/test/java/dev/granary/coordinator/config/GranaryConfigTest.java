package dev.granary.coordinator.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.EvictionPolicy;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantPolicy;
import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.coordinator.config.GranaryConfig.EnabledEngines;
import dev.granary.local.PrivateSubdirectory;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Location;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The sources of each setting, and the messages for wrong values. */
class GranaryConfigTest {
    private final Path home;
    private final Map<String, String> environment = new HashMap<>();

    GranaryConfigTest(@TempDir Path home) {
        this.home = home;
        environment.put("HOME", home.toString());
    }

    private GranaryConfigBuilder builder() {
        return GranaryConfig.builder().environment(environment);
    }

    private Path file(String text) throws IOException {
        Path file = Files.createDirectories(home.resolve(".config").resolve("granary"))
                .resolve("config.toml");
        return Files.writeString(file, text);
    }

    private static List<BucketConfig> layers(
            String location, String endpoint, S3ClientLibrary client) {
        return List.of(new BucketConfig.S3(
                S3Location.parse(location),
                S3Access.READ_WRITE,
                Optional.of(URI.create(endpoint)),
                Optional.empty(),
                client,
                Optional.empty(),
                TrustPolicy.OFF,
                Map.of()));
    }

    private String mistake() {
        return String.valueOf(
                assertThrows(ConfigException.class, () -> builder().build()).getMessage());
    }

    private static String refusal(Executable code) {
        return String.valueOf(assertThrows(ConfigException.class, code).getMessage());
    }

    private static void assertSays(String message, String... parts) {
        for (String part : parts) {
            assertTrue(message.contains(part), () -> "'" + part + "' is not in: " + message);
        }
    }

    @Test
    @DisplayName(
            "Code takes precedence over the environment, that over the file, that over the default")
    void order() throws Exception {
        GranaryConfig defaults = builder().build();
        assertEquals(
                new GranaryConfig(
                        List.of(),
                        home.resolve(".cache/granary"),
                        4L << 30,
                        EvictionPolicy.LRU,
                        1024,
                        Duration.ofSeconds(60),
                        Duration.ofMillis(1_800),
                        Duration.ofSeconds(5),
                        ConstantLimits.NONE,
                        Optional.empty(),
                        EnabledEngines.ALL,
                        TrustPolicy.OFF,
                        Map.of(),
                        Optional.empty()),
                defaults);

        file("""
            bucket = "s3://file/p"
            endpoint = "http://file:1"
            client = "minio"
            dir = "/from/file"
            capacity = "3GiB"
            eviction = "fifo"
            primitive-cache-capacity = 3
            claim-wait = 3
            bucket-wait = "30s"
            constant-tensor-cache-capacity = "cpu:3;gpu:3:LRU"
            record = "/file/kernels.toml"
            """);
        GranaryConfig inFile = builder().build();
        assertEquals(
                new GranaryConfig(
                        layers("s3://file/p", "http://file:1", S3ClientLibrary.MINIO),
                        Path.of("/from/file"),
                        3L << 30,
                        EvictionPolicy.FIFO,
                        3,
                        Duration.ofSeconds(3),
                        Duration.ofSeconds(30),
                        Duration.ofSeconds(5),
                        ConstantLimits.parse("cpu:3;gpu:3:LRU", _ -> {}),
                        Optional.of(Path.of("/file/kernels.toml")),
                        EnabledEngines.ALL,
                        TrustPolicy.OFF,
                        Map.of(),
                        Optional.empty()),
                inFile);

        environment.putAll(Map.of(
                "GRANARY_BUCKET",
                "s3://environment",
                "GRANARY_S3_ENDPOINT",
                "http://environment:2",
                "GRANARY_S3_CLIENT",
                "aws",
                "GRANARY_DIR",
                "/from/environment",
                "GRANARY_CAPACITY",
                "2",
                "GRANARY_EVICTION",
                "lru",
                "GRANARY_PRIMITIVE_CACHE_CAPACITY",
                "2",
                "GRANARY_CLAIM_WAIT",
                "200ms"));
        environment.put("GRANARY_CONSTANT_TENSOR_CACHE_CAPACITY", "cpu:2:COST");
        environment.put("GRANARY_BUCKET_WAIT", "20");
        environment.put("GRANARY_RECORD", "/environment/kernels.toml");
        GranaryConfig inEnvironment = builder().build();
        assertEquals(
                new GranaryConfig(
                        layers("s3://environment", "http://environment:2", S3ClientLibrary.AWS),
                        Path.of("/from/environment"),
                        2L << 20,
                        EvictionPolicy.LRU,
                        2,
                        Duration.ofMillis(200),
                        Duration.ofSeconds(20),
                        Duration.ofSeconds(5),
                        ConstantLimits.parse("cpu:2:COST;gpu:3:LRU", _ -> {}),
                        Optional.of(Path.of("/environment/kernels.toml")),
                        EnabledEngines.ALL,
                        TrustPolicy.OFF,
                        Map.of(),
                        Optional.empty()),
                inEnvironment);

        GranaryConfig inCode = builder()
                .bucket("s3://code")
                .endpoint("http://code:3")
                .client("minio")
                .directory(Path.of("/from/code"))
                .capacity("1KiB")
                .eviction(EvictionPolicy.FIFO)
                .primitiveCacheCapacity(0)
                .claimWait(Duration.ofMinutes(2))
                .bucketWait(Duration.ofMillis(1))
                .flushLimit(Duration.ZERO)
                .record(Path.of("/code/kernels.toml"))
                .constantTensorCacheCapacity(EngineKind.GPU, Limit.of(1))
                .constantTensorCacheCapacity(EngineKind.CPU, new Limit(0, ConstantPolicy.LRU))
                .build();
        assertEquals(
                new GranaryConfig(
                        layers("s3://code", "http://code:3", S3ClientLibrary.MINIO),
                        Path.of("/from/code"),
                        1024,
                        EvictionPolicy.FIFO,
                        0,
                        Duration.ofMinutes(2),
                        Duration.ofMillis(1),
                        Duration.ZERO,
                        ConstantLimits.parse("cpu:0:LRU;gpu:1", _ -> {}),
                        Optional.of(Path.of("/code/kernels.toml")),
                        EnabledEngines.ALL,
                        TrustPolicy.OFF,
                        Map.of(),
                        Optional.empty()),
                inCode);

        assertEquals(List.of(), builder().offline().build().buckets());
        environment.replaceAll((name, value) -> name.startsWith("GRANARY_") ? " " : value);
        assertEquals(inFile, builder().build(), "blank means not set");
    }

    @ParameterizedTest
    @CsvSource({
        "GRANARY_BUCKET, bucket, http://x, s3://name",
        "GRANARY_BUCKET, bucket, s3://UPPER, lower-case",
        "GRANARY_BUCKET, bucket, s3://name/../x, s3://name/prefix",
        "GRANARY_BUCKET, bucket, 's3://name;s3://other', s3://name/prefix",
        "GRANARY_S3_ENDPOINT, endpoint, localhost:9000, http://127.0.0.1:9000",
        "GRANARY_S3_ENDPOINT, endpoint, ftp://host, http://127.0.0.1:9000",
        "GRANARY_S3_ENDPOINT, endpoint, http://host:90000, http://127.0.0.1:9000",
        "GRANARY_S3_ENDPOINT, endpoint, 'http://a b', http://127.0.0.1:9000",
        "GRANARY_S3_CLIENT, client, netty, aws or minio",
        "GRANARY_DIR, dir, ~/cache, a directory without ~",
        "GRANARY_RECORD, record, ~/kernels.toml, a file without ~",
        "GRANARY_CAPACITY, capacity, lots, 500MiB",
        "GRANARY_EVICTION, eviction, LRU, fifo",
        "GRANARY_CAPACITY, capacity, -5, 500MiB",
        "GRANARY_CAPACITY, capacity, GiB, 500MiB",
        "GRANARY_CAPACITY, capacity, 9999999999999GiB, 500MiB",
        "GRANARY_CAPACITY, capacity, 99999999999999999999, 500MiB",
        "GRANARY_CAPACITY, capacity, 1.5GiB, 500MiB",
        "GRANARY_CLAIM_WAIT, claim-wait, soon, 500ms",
        "GRANARY_CLAIM_WAIT, claim-wait, -1s, 500ms",
        "GRANARY_CLAIM_WAIT, claim-wait, 9000h, 500ms",
        "GRANARY_BUCKET_WAIT, bucket-wait, soon, 4s"
    })
    @DisplayName(
            "A wrong value causes an error with its place, the value and the expectation, also in"
                    + " the file")
    void wrongValues(String variable, String key, String value, String right) throws Exception {
        environment.put(variable, value);
        assertSays(mistake(), variable, "'" + value + "'", right);
        environment.remove(variable);
        Path file = file(key + " = '" + value + "'");
        assertSays(mistake(), file.toString(), key, "'" + value + "'", right);
    }

    @Test
    @DisplayName("A wrong value in code causes an error at once")
    void wrongInCode() {
        assertSays(
                refusal(() -> builder().bucket("kernels")), "The bucket is 'kernels'", "s3://name");
        assertSays(refusal(() -> builder().capacity("much")), "'much'", "4GiB");
        assertThrows(ConfigException.class, () -> builder().client(""));
        assertThrows(ConfigException.class, () -> builder().endpoint("http://"));
        assertSays(refusal(() -> builder().claimWait(Duration.ofSeconds(-1))), "from 0 to a year");
        assertSays(
                refusal(() -> builder().bucketWait(Duration.ofDays(366))),
                "The bucket wait",
                "from 0 to a year");
        assertSays(refusal(() -> builder().flushLimit(Duration.ofSeconds(-1))), "from 0 to a year");
        assertThrows(
                IllegalArgumentException.class,
                () -> new GranaryConfig(
                        List.of(),
                        home,
                        -1,
                        EvictionPolicy.LRU,
                        0,
                        Duration.ZERO,
                        Duration.ZERO,
                        Duration.ZERO,
                        ConstantLimits.NONE,
                        Optional.empty(),
                        EnabledEngines.ALL,
                        TrustPolicy.OFF,
                        Map.of(),
                        Optional.empty()));
        assertThrows(
                IllegalArgumentException.class,
                () -> new GranaryConfig(
                        List.of(),
                        home,
                        0,
                        EvictionPolicy.LRU,
                        0,
                        Duration.ZERO,
                        Duration.ofNanos(-1),
                        Duration.ZERO,
                        ConstantLimits.NONE,
                        Optional.empty(),
                        EnabledEngines.ALL,
                        TrustPolicy.OFF,
                        Map.of(),
                        Optional.empty()));
    }

    @Test
    @DisplayName("an endpoint with credentials is rejected, and no message contains them")
    void credentialsInEndpoint() {
        environment.put("GRANARY_S3_ENDPOINT", "http://user:secret@host:9000");
        String message = mistake();
        assertSays(message, "GRANARY_S3_ENDPOINT", "host:9000", "without user and password");
        assertFalse(message.contains("secret"), message);
        for (String bucket : List.of(
                "s3://name?endpoint=http://user:secret@host",
                "s3://name?endpoint=http://user:a/secret@host",
                "s3://name?endpoint=https://user:secret&ret@host",
                "s3://name?endpoint=https://user:secret,ret@host",
                "s3://name?endpoint=https://user:secret ret@host",
                "x//user:secret@y")) {
            String complaint = refusal(() -> builder().bucket(bucket));
            assertFalse(complaint.contains("secret"), complaint);
        }
        for (String bucket : List.of( // a part before the separator looks like host and port
                "s3://name?endpoint=ftp://user:123&secret@host",
                "s3://name?endpoint=ftp://user:123,secret@host",
                "s3://name?endpoint=ftp://user:123 secret@host",
                "s3://123secret:123secret@host/bucket")) {
            String complaint = refusal(() -> builder().bucket(bucket));
            assertFalse(complaint.contains("123"), complaint);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "dir = 5",
                "bucket = true",
                "client = ['aws']",
                "endpoint = 1979-05-27",
                "capacity = 1.5",
                "capacity = true",
                "primitive-cache-capacity = 1.0",
                "primitive-cache-capacity = -1",
                "[bucket]\nname = 'x'",
                "bucket = []",
                "bucket = ['s3://name', 5]",
                "bucket = [['s3://name']]",
                "[[bucket]]\nname = 'x'",
                "[[dir]]\nx = 1"
            })
    @DisplayName("A wrong TOML type causes an error with file, key and expectation")
    void wrongTypes(String text) throws Exception {
        Path file = file(text);
        assertSays(
                mistake(),
                file.toString(),
                text.split("[ =\\[\\]]+")[text.startsWith("[") ? 1 : 0],
                "but should be");
    }

    @Test
    @DisplayName(
            "An unknown key and each kind of unreadable file cause an error with the name of the"
                    + " file")
    void wrongFiles() throws Exception {
        assertSays(
                mistakeIn("buckett = 's3://x'"),
                "unknown key 'buckett'",
                "known are bucket, endpoint",
                "the nearest name is 'bucket'");
        assertSays(mistakeIn("bucket = \n"), "config.toml:1:", "is not TOML");
        assertSays(
                mistakeIn("bucket = 's3://name'\nbucket = 's3://name'"),
                "config.toml:2:",
                "is not TOML");
        Files.write(file(""), new byte[] {'#', (byte) 0xff, (byte) 0xfe});
        assertSays(mistake(), "config.toml", "not UTF-8");
        environment.put("GRANARY_CONFIG", home.resolve("missing.toml").toString());
        assertSays(mistake(), "missing.toml", "there is no such file", "GRANARY_CONFIG");
        environment.put("GRANARY_CONFIG", home.toString());
        assertSays(mistake(), home.toString(), "cannot be read");
        environment.put("GRANARY_CONFIG", "a\0b");
        assertSays(mistake(), "GRANARY_CONFIG", "not a path");
    }

    private String mistakeIn(String text) throws IOException {
        file(text);
        return mistake();
    }

    @Test
    @DisplayName("The file of GRANARY_CONFIG replaces the default one, whose place depends on"
            + " XDG_CONFIG_HOME")
    void fileChoice() throws Exception {
        file("capacity = 1");
        Path other = home.resolve("other");
        Files.writeString(
                Files.createDirectories(other.resolve("granary")).resolve("config.toml"),
                "capacity = 2");
        environment.put("XDG_CONFIG_HOME", other.toString());
        assertEquals(2L << 20, builder().build().capacityBytes());
        environment.put(
                "GRANARY_CONFIG",
                Files.writeString(home.resolve("named.toml"), "capacity = 3").toString());
        assertEquals(3L << 20, builder().build().capacityBytes());
    }

    @Test
    @DisplayName("several buckets keep their order; omitted options come from the settings for all")
    void severalBuckets() throws Exception {
        List<BucketConfig> expected = List.of(
                new BucketConfig.S3(
                        S3Location.parse("s3://team/x"),
                        S3Access.READ_WRITE,
                        Optional.of(URI.create("http://all:1")),
                        Optional.empty(),
                        S3ClientLibrary.AWS,
                        Optional.empty(),
                        TrustPolicy.OFF,
                        Map.of()),
                new BucketConfig.S3(
                        S3Location.parse("s3://company"),
                        S3Access.READ,
                        Optional.of(URI.create("http://all:1")),
                        Optional.of("eu-1"),
                        S3ClientLibrary.AWS,
                        Optional.empty(),
                        TrustPolicy.OFF,
                        Map.of()),
                new BucketConfig.S3(
                        S3Location.parse("s3://company"),
                        S3Access.READ_WRITE,
                        Optional.of(URI.create("https://own")),
                        Optional.empty(),
                        S3ClientLibrary.MINIO,
                        Optional.empty(),
                        TrustPolicy.OFF,
                        Map.of()));
        String first = "s3://team/x/";
        String second = "s3://company?region=eu-1&access=read";
        String third = "s3://company?endpoint=https://own&client=minio&access=read-write";
        environment.put("GRANARY_S3_ENDPOINT", "http://all:1");
        assertEquals(
                expected,
                builder().bucket(first).bucket(second).bucket(third).build().buckets());
        for (String separator : List.of(",", " ", " , ", "\n")) {
            environment.put("GRANARY_BUCKET", first + separator + second + separator + third);
            assertEquals(expected, builder().build().buckets(), separator);
        }
        assertEquals(
                1,
                builder().bucket("s3://code").build().buckets().size(),
                "code replaces all of them");
        environment.remove("GRANARY_BUCKET");
        file("bucket = ['" + first + "', '" + second + "',\n'" + third + "']");
        assertEquals(expected, builder().build().buckets());
        file("bucket = '" + first + ", " + second + ", " + third + "'");
        assertEquals(expected, builder().build().buckets());
        assertEquals(
                "s3://company at http://all:1 in eu-1, read-only",
                expected.get(1).toString());
        assertEquals(
                "s3://company at https://own through minio", expected.get(2).toString());
    }

    @ParameterizedTest
    @CsvSource({
        "?acess=read, acess=..., ?access=read",
        "?access=write, access=..., access=read or access=read-write",
        "?, ..., ?access=read",
        "?read, ..., ?access=read",
        "?access=read&access=read, access=..., each once",
        "?client=curl, client=..., aws or minio",
        "?endpoint=host:9, endpoint=..., http://127.0.0.1:9000",
        "?region=EU/../x, region=..., region=eu-central-1",
        "?profile=, profile=..., such as profile=vendor",
        "?credentials=key:secret, credentials=..., credentials=none",
        "?kms=$, kms=..., kms=alias/kernels",
        "?fips=yes, fips=..., fips=true or fips=false",
        "?dual-stack=, dual-stack=..., dual-stack=true or dual-stack=false",
        "?path-style=1, path-style=..., path-style=true or path-style=false",
        "?path_style=true, ..., profile=NAME"
    })
    @DisplayName("A wrong option of a bucket causes an error with the option and the expectation")
    void wrongOptions(String options, String option, String right) throws Exception {
        environment.put("GRANARY_BUCKET", "s3://good, s3://name" + options);
        assertSays(mistake(), "GRANARY_BUCKET has '" + option + "'", right);
        environment.remove("GRANARY_BUCKET");
        assertSays(
                refusal(() -> builder().bucket("s3://name" + options)),
                "The bucket has '" + option + "'",
                right);
    }

    @Test
    @DisplayName("credentials and transport of one bucket are options of its address only")
    void optionsOfOneBucket() throws Exception {
        List<BucketConfig> layers = builder()
                .bucket("s3://team?profile=team&kms=alias/kernels&dual-stack=true&fips=true")
                .bucket("s3://public?credentials=none&access=read&path-style=true")
                .bucket("s3://company")
                .build()
                .buckets();
        assertEquals(
                List.of(
                        "s3://team, {profile=team, kms=alias/kernels, dual-stack=true, fips=true}",
                        "s3://public, read-only, {credentials=none, path-style=true}",
                        "s3://company"),
                layers.stream().map(BucketConfig::toString).toList());
    }

    @ParameterizedTest
    @CsvSource({
        "credentials=none, add access=read",
        "credentials=none&access=read&profile=x, omit one of them",
        "fips=true&endpoint=http://h, omit one of them",
        "dual-stack=true&client=minio, need client=aws",
        "path-style=true&client=minio, need client=aws"
    })
    @DisplayName("Options of a bucket that exclude each other cause an error with the cure")
    void conflictingOptions(String options, String cure) throws Exception {
        environment.put("GRANARY_BUCKET", "s3://good, s3://name/x?" + options);
        assertSays(mistake(), "The bucket s3://name/x has ", cure);
    }

    @Test
    @DisplayName(
            "file:///path is a shared directory among the buckets, with the option access only")
    void sharedDirectories() throws Exception {
        environment.put("GRANARY_S3_ENDPOINT", "http://all:1");
        environment.put(
                "GRANARY_BUCKET", "file:///seed?access=read, s3://team, file:///my%20nas/x/");
        List<BucketConfig> layers = builder().build().buckets();
        assertEquals(
                List.of(
                        new BucketConfig.Directory(Path.of("/seed"), false, TrustPolicy.OFF),
                        layers("s3://team", "http://all:1", S3ClientLibrary.AWS).getFirst(),
                        new BucketConfig.Directory(Path.of("/my nas/x"), true, TrustPolicy.OFF)),
                layers);
        assertEquals(
                List.of("file:///seed, read-only", "s3://team at http://all:1", "file:///my nas/x"),
                layers.stream().map(BucketConfig::toString).toList());
        assertEquals("file:///seed", layers.getFirst().name());
        environment.remove("GRANARY_BUCKET");
        file("bucket = ['file:///seed?access=read', 's3://team']");
        assertEquals(layers.subList(0, 2), builder().build().buckets());
        assertSays(
                refusal(() ->
                        builder().bucket("file:///x").bucket("file:///y/../x").build()),
                "file:///x is named twice");
    }

    @ParameterizedTest
    @CsvSource({
        "file:kernels, is 'file:kernels', an absolute path",
        "file:./kernels, is 'file:./kernels', an absolute path",
        "file://nas/kernels, is 'file://nas/kernels', without a host",
        "file://me:hush@nas/kernels, is 'file://...@nas/kernels', without a host",
        "file:///x?endpoint=http://nas:1, has 'endpoint=...', only option",
        "file:///x?client=minio, has 'client=...', only option",
        "file:///x?region=eu-1, has 'region=...', only option",
        "file:///x?access=write, has 'access=...', access=read"
    })
    @DisplayName("A wrong shared directory causes an error with the part and the expectation")
    void wrongDirectories(String address, String part, String right) {
        assertSays(refusal(() -> builder().bucket(address)), "The bucket " + part, right);
    }

    @Test
    @DisplayName("A bucket that is named twice causes an error; the same name at another server is"
            + " another bucket")
    void namedTwice() throws Exception {
        assertSays(
                refusal(() -> builder()
                        .bucket("s3://name/x")
                        .bucket("s3://name/x/?access=read")
                        .build()),
                "s3://name/x is named twice",
                "once");
        assertEquals(
                2,
                builder()
                        .bucket("s3://name")
                        .bucket("s3://name?endpoint=http://other")
                        .build()
                        .buckets()
                        .size());
        environment.put("GRANARY_BUCKET", "s3://name s3://name?endpoint=http://all:1");
        environment.put("GRANARY_S3_ENDPOINT", "http://all:1");
        assertSays(mistake(), "s3://name at http://all:1 is named twice");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "many", "1.5", "99999999999"})
    @DisplayName("a wrong primitive cache capacity in the environment is logged and ignored; a"
            + " negative one in code is rejected")
    void badPrimitiveCacheCapacity(String wrong) throws Exception {
        environment.put("GRANARY_PRIMITIVE_CACHE_CAPACITY", wrong);
        assertSays(
                logOf(() -> assertEquals(1024, builder().build().primitiveCacheCapacity())),
                "GRANARY_PRIMITIVE_CACHE_CAPACITY",
                "'" + wrong + "'",
                "ignored");
        file("primitive-cache-capacity = 7");
        assertEquals(7, builder().build().primitiveCacheCapacity(), "the file has a correct one");
        file("primitive-cache-capacity = 'x'");
        assertSays(mistake(), "config.toml", "primitive-cache-capacity");
        assertEquals(5, builder().primitiveCacheCapacity(5).build().primitiveCacheCapacity());
        assertSays(refusal(() -> builder().primitiveCacheCapacity(-1)), "'-1'", "0 or more");
    }

    @Test
    @DisplayName(
            "An unknown variable is logged once, with the nearest name; its value is not shown")
    void unknownVariable() throws Exception {
        // unique, since it is logged once per process
        String unknown = "GRANARY_DIR" + System.nanoTime() % 10;
        environment.put(unknown, "secret");
        environment.put("GRANARY_JAVA_OPTIONS", "-Xmx1g");
        String log = logOf(() -> {
            builder().build();
            builder().build();
        });
        assertSays(log, unknown + " is unknown and ignored; the nearest name is 'GRANARY_DIR'");
        assertEquals(log.indexOf(unknown), log.lastIndexOf(unknown), log);
        assertFalse(log.contains("secret") || log.contains("GRANARY_JAVA_OPTIONS"), log);
    }

    @Test
    @DisplayName("correct parts of a constant tensor capacity in the environment apply; wrong"
            + " ones are logged once")
    void badConstantTensorCacheCapacity() throws Exception {
        // unique, since it is logged once per process
        String wrong = "gpu:bad" + Long.toHexString(System.nanoTime());
        environment.put("GRANARY_CONSTANT_TENSOR_CACHE_CAPACITY", "cpu:10240;" + wrong);
        file("constant-tensor-cache-capacity = 'cpu:1;gpu:7'");
        String log = logOf(() -> {
            for (int i = 0; i < 3; i++) {
                assertEquals(
                        ConstantLimits.parse("cpu:10240;gpu:7", _ -> {}),
                        builder().build().constantLimits(),
                        "gpu comes from the file");
            }
        });
        assertSays(
                log,
                "GRANARY_CONSTANT_TENSOR_CACHE_CAPACITY has '" + wrong + "'",
                "cpu:10240;gpu:2048:COST",
                "ignored");
        assertEquals(log.indexOf(wrong), log.lastIndexOf(wrong), log);
        assertEquals(
                Limit.of(5),
                builder()
                        .constantTensorCacheCapacity(EngineKind.GPU, Limit.of(5))
                        .build()
                        .constantLimits()
                        .chosen()
                        .get(EngineKind.GPU));
        file("constant-tensor-cache-capacity = 'gpu:7;npu:1'");
        assertSays(
                mistake(),
                "config.toml",
                "constant-tensor-cache-capacity",
                "'npu:1'",
                "the kinds are cpu and gpu");
    }

    /** Runs {@code code} and returns the log output. */
    private static String logOf(Executable code) throws Exception {
        PrintStream standardError = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            code.execute();
        } catch (Throwable e) {
            throw new AssertionError(e);
        } finally {
            System.setErr(standardError);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    @ParameterizedTest
    @CsvSource({
        "4GiB, 4294967296",
        "500MiB, 524288000",
        "500 mb, 524288000",
        "7, 7340032",
        "16k, 16384",
        "2T, 2199023255552",
        "1g, 1073741824",
        "0, 0",
        "0GiB, 0"
    })
    @DisplayName("Sizes have units of 1024; a plain number is MiB")
    void sizes(String text, long bytes) throws Exception {
        assertEquals(bytes, builder().capacity(text).build().capacityBytes());
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "60, 60000", "500ms, 500", "2 m, 120000", "1H, 3600000", "5s, 5000"})
    @DisplayName("Times have units; a plain number is seconds")
    void times(String text, long millis) throws Exception {
        environment.put("GRANARY_CLAIM_WAIT", text);
        assertEquals(Duration.ofMillis(millis), builder().build().claimWait());
    }

    @Test
    @DisplayName("a relative XDG_CACHE_HOME, XDG_CONFIG_HOME or HOME is ignored, as the XDG"
            + " specification demands")
    void relativeHomes() throws Exception {
        environment.put("XDG_CACHE_HOME", "relative/cache");
        environment.put("XDG_CONFIG_HOME", "relative/config");
        file("capacity = 5");
        assertEquals(home.resolve(".cache/granary"), builder().build().directory());
        assertEquals(5L << 20, builder().build().capacityBytes());
        environment.put("HOME", "relative");
        assertEquals(
                Path.of(System.getProperty("user.home"), ".cache/granary"),
                builder().build().directory());
    }

    @Test
    @DisplayName("what the parser cannot read is not TOML; an unknown key shows no user"
            + " information")
    void parserFails() throws Exception {
        assertSays(
                mistakeIn("capacity = 1\ndir = " + "[".repeat(4000)),
                "config.toml",
                "nested too deep");
        assertSays(mistakeIn("[\"\\u"), "config.toml", "not TOML");
        assertSays(
                mistakeIn("capacity = 1\nx = 1979-05-27T07:32:00-1'"), "config.toml", "not TOML");
        String echoed = mistakeIn("\"//u:p@\" = 1");
        assertTrue(echoed.contains("//...@") && !echoed.contains("u:p"), echoed);
    }

    @Test
    @DisplayName(
            "The default directory is under XDG_CACHE_HOME, else the home; without a home it is"
                    + " one of this user's in the directory of temporary files")
    void defaultDirectory() throws Exception {
        assertEquals(home.resolve(".cache/granary"), builder().build().directory());
        environment.put("XDG_CACHE_HOME", "/var/xdg");
        assertEquals(Path.of("/var/xdg/granary"), builder().build().directory());
        environment.clear();
        String userHome = System.getProperty("user.home");
        System.setProperty("user.home", "?");
        try {
            assertEquals(
                    PrivateSubdirectory.resolve(Path.of(System.getProperty("java.io.tmpdir"))),
                    builder().build().directory());
            environment.put("GRANARY_DIR", "/named");
            assertEquals(Path.of("/named"), builder().build().directory());
        } finally {
            System.setProperty("user.home", userHome);
        }
    }

    @Test
    @DisplayName("A relative directory is resolved once, against the working directory")
    void relativeDirectory() throws Exception {
        assertEquals(
                Path.of("b").toAbsolutePath(),
                builder().directory(Path.of("a/../b")).build().directory());
    }
}
