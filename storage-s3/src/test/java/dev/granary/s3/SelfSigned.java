package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.SystemTool;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;

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
        assertTrue(SystemTool.run(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-J-XX:TieredStopAtLevel=1",
                "-genkeypair",
                "-alias",
                "a",
                "-keyalg",
                "EC",
                "-dname",
                "CN=Granary",
                "-ext",
                "san=" + names,
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD,
                "-keystore",
                store.toString()));
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        Path pem = Files.writeString(
                directory.resolve("ca.pem"),
                "-----BEGIN CERTIFICATE-----\n"
                        + Base64.getMimeEncoder()
                                .encodeToString(keys.getCertificate("a").getEncoded())
                        + "\n-----END CERTIFICATE-----\n");
        KeyManagerFactory managers =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(managers.getKeyManagers(), null, null);
        return new SelfSigned(context, pem);
    }
}
