package dev.granary.s3.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.SelfSigned;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.Optional;

import javax.net.ssl.X509TrustManager;

/** Tests of proxy and certificates of an environment. */
class NetworkSettingsTest {
    private static final String PROXY = "http://proxy.example:3128";

    private static String proxy(String server, Map<String, String> environment) {
        return NetworkSettings.of(URI.create(server), environment)
                .proxy()
                .map(Object::toString)
                .orElse("direct");
    }

    @ParameterizedTest
    @CsvSource({
        "https://s3.example.com, '', false",
        "https://s3.example.com, *, true",
        "https://s3.example.com, example.com, true",
        "https://s3.example.com, .example.com, true",
        "https://s3.example.com, *.example.com, true",
        "https://s3.example.com, s3.example.com, true",
        "https://S3.Example.com, s3.example.COM, true",
        "https://s3.example.com, 'a.example,example.com', true",
        "https://s3.example.com, 'a.example  example.com', true",
        "https://s3.example.com, ample.com, false",
        "https://s3.example.com, s3.example, false",
        "https://s3.example.com, '.,,', false",
        "https://s3.example.com, example.com:443, true",
        "https://s3.example.com:9000, example.com:9000, true",
        "https://s3.example.com:9000, example.com:443, false",
        "http://s3.example.com, example.com:80, true",
        "http://10.1.2.3:9000, 10.1.2.3, true",
        "http://10.1.2.3:9000, 10.1.2.3:9000, true",
        "http://10.1.2.3:9000, 10.0.0.0/8, true",
        "http://10.1.2.3:9000, 10.1.2.0/24, true",
        "http://10.1.2.3:9000, 0.0.0.0/0, true",
        "http://10.1.2.3:9000, 10.1.3.0/24, false",
        "http://10.1.2.3:9000, 10.1.2.0/x, false",
        "http://10.1.2.3:9000, 10.1.2.0/99, false",
        "http://10.1.2.3:9000, fd00::/8, false",
        "http://10.1.2.3:9000, 2.3, false",
        "http://s3.example.com, 10.0.0.0/8, false",
        "http://[fd00::1]:9000, fd00::1, true",
        "http://[fd00::1]:9000, [fd00::1]:9000, true",
        "http://[fd00::1]:9000, fd00::/8, true",
        "http://[fd00::1]:9000, fe00::/8, false",
        "http://localhost:9000, '', true",
        "http://127.0.0.1:9000, '', true",
        "http://127.9.9.9:9000, '', true",
        "http://[::1]:9000, '', true",
    })
    @DisplayName("NO_PROXY has domains, addresses and networks, with a port or without; this"
            + " machine needs no proxy")
    void noProxy(String server, String noProxy, boolean isDirect) {
        Map<String, String> environment =
                Map.of("HTTPS_PROXY", PROXY, "HTTP_PROXY", PROXY, "NO_PROXY", noProxy);
        assertEquals(isDirect ? "direct" : PROXY, proxy(server, environment));
    }

    @Test
    @DisplayName("the scheme of the server chooses the variable, and lower case has precedence")
    void variables() {
        Map<String, String> both = Map.of("HTTP_PROXY", "http://a:1", "HTTPS_PROXY", "http://b:2");
        assertEquals("http://a:1", proxy("http://s3.example", both));
        assertEquals("http://b:2", proxy("https://s3.example", both));
        assertEquals("direct", proxy("https://s3.example", Map.of("HTTP_PROXY", "http://a:1")));
        Map<String, String> cases = Map.of("https_proxy", "http://a:1", "HTTPS_PROXY", PROXY);
        assertEquals("http://a:1", proxy("https://s3.example", cases));
        assertEquals(
                "direct",
                proxy("https://s3.example", Map.of("HTTPS_PROXY", PROXY, "no_proxy", "example")));
        assertEquals("http://c:8", proxy("https://s3.example", Map.of("HTTPS_PROXY", "c:8")));
        assertEquals("http://c:80", proxy("https://s3.example", Map.of("HTTPS_PROXY", "c/")));
        System.setProperty("https.proxyHost", "of-the-jvm");
        try {
            assertEquals("http://of-the-jvm:443", proxy("https://s3.example", both));
        } finally {
            System.clearProperty("https.proxyHost");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "socks5://me:hush@proxy:1080",
                "https://me:hush@proxy:1080",
                "http://me:hush@",
                "me:hush@proxy:many",
                "http://me:hush@proxy:99999",
                "http://me:hush@pro xy"
            })
    @DisplayName("another proxy than an HTTP one is refused, without its password")
    void wrongProxy(String address) {
        IllegalStateException e = assertThrows(
                IllegalStateException.class,
                () -> proxy("https://s3.example", Map.of("HTTPS_PROXY", address)));
        assertTrue(
                String.valueOf(e.getMessage()).startsWith("HTTPS_PROXY is not the address"),
                e::toString);
        assertFalse(e.toString().contains("hush"), e::toString);
    }

    private static X509TrustManager trust(Path file) {
        return NetworkSettings.of(
                        URI.create("https://s3.example"), Map.of("AWS_CA_BUNDLE", file.toString()))
                .trust()
                .orElseThrow();
    }

    @Test
    @DisplayName("a file of certificates is parsed once, and again after a change")
    void certificates(@TempDir Path directory) throws Exception {
        Path pem = SelfSigned.create(directory, "ip:127.0.0.1").pem();
        String one = Files.readString(pem);
        Files.writeString(pem, "# the first one\n" + one + "\n# again\n" + one);
        X509TrustManager first = trust(pem);
        assertEquals(1, first.getAcceptedIssuers().length);
        assertSame(first, trust(pem));
        Files.setLastModifiedTime(pem, FileTime.fromMillis(1));
        assertNotSame(first, trust(pem));
    }

    @Test
    @DisplayName("without TLS the file of certificates is not read")
    void withoutTls(@TempDir Path directory) {
        assertEquals(
                Optional.empty(),
                NetworkSettings.of(
                                URI.create("http://s3.example"),
                                Map.of(
                                        "AWS_CA_BUNDLE",
                                        directory.resolve("none.pem").toString()))
                        .trust());
    }

    @Test
    @DisplayName("a file without certificates is refused, and named")
    void noCertificates(@TempDir Path directory) throws Exception {
        Path empty = Files.createFile(directory.resolve("empty.pem"));
        Path broken = Files.writeString(
                directory.resolve("broken.pem"),
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        for (Path file : new Path[] {empty, broken, directory.resolve("none.pem")}) {
            IllegalStateException e =
                    assertThrows(IllegalStateException.class, () -> trust(file), file::toString);
            assertTrue(String.valueOf(e.getMessage()).contains("AWS_CA_BUNDLE"), e::toString);
        }
    }
}
