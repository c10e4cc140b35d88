package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.SystemTool;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.stream.Stream;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/**
 * A certificate that nobody trusts unless told to.
 *
 * @param context the context of a server with it
 * @param pem the file with the certificate
 */
public record SelfSigned(SSLContext context, Path pem) {
    private static final String PASSWORD = "changeit";

    /** Makes a certificate in a directory, for names such as {@code ip:127.0.0.1}. */
    public static SelfSigned create(Path directory, String names) throws Exception {
        Path store = directory.resolve("store.p12");
        Path pem = directory.resolve("ca.pem");
        keytool(
                store,
                "-genkeypair",
                "-alias",
                "a",
                "-keyalg",
                "EC",
                "-dname",
                "CN=Granary",
                "-ext",
                "san=" + names);
        keytool(store, "-exportcert", "-rfc", "-alias", "a", "-file", pem.toString());
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        KeyManagerFactory managers =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(managers.getKeyManagers(), null, null);
        return new SelfSigned(context, pem);
    }

    private static void keytool(Path store, String... arguments) throws InterruptedException {
        Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
        assertTrue(SystemTool.run(Stream.of(
                        Stream.of(keytool.toString()),
                        Stream.of(arguments),
                        Stream.of("-storetype", "PKCS12", "-storepass", PASSWORD),
                        Stream.of("-keystore", store.toString()))
                .flatMap(part -> part)
                .toArray(String[]::new)));
    }
}
