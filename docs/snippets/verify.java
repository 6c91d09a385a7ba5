// Does a request come from the service? Reads the raw body from standard input; exit code 0 means yes, 1 no. Java 17 or newer:
//   java verify.java whsec_… 'webhook-id: …' 'webhook-timestamp: …' 'webhook-signature: …' < body.json
//   java verify.java whsec_… 'Signature: …' < body.json
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

class Verify {
    static final long TOLERANCE_SECONDS = 300;

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Compares in constant time, which does not show how much was right. */
    static boolean same(String given, String expected) {
        return MessageDigest.isEqual(bytes(given), bytes(expected));
    }

    static byte[] digest(byte[] key, byte[]... parts) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        for (byte[] part : parts) mac.update(part);
        return mac.doFinal();
    }

    /** `webhook-signature`: one of its entries must be right, and the request fresh. */
    static boolean verifyStandard(byte[] body, Map<String, String> headers, String secret) throws GeneralSecurityException {
        String id = headers.getOrDefault("webhook-id", "");
        String timestamp = headers.getOrDefault("webhook-timestamp", "");
        if (id.isEmpty() || !timestamp.matches("[0-9]{1,12}")) return false;
        if (Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(timestamp)) > TOLERANCE_SECONDS) return false;
        byte[] key = Base64.getDecoder().decode(secret.replaceFirst("^whsec_", ""));
        String expected = "v1," + Base64.getEncoder().encodeToString(digest(key, bytes(id + "." + timestamp + "."), body));
        return Arrays.stream(headers.get("webhook-signature").split(" ")).anyMatch(entry -> same(entry, expected));
    }

    /** `Signature`: over the body alone; the key is the whole secret as text. */
    static boolean verifySignature(byte[] body, Map<String, String> headers, String secret) throws GeneralSecurityException {
        return same(headers.getOrDefault("signature", ""), HexFormat.of().formatHex(digest(bytes(secret), body)));
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> headers = new HashMap<>();
        for (String line : Arrays.copyOfRange(args, 1, args.length)) {
            String[] pair = line.split(":", 2);
            headers.put(pair[0].toLowerCase(), pair[1].strip());
        }
        byte[] body = System.in.readAllBytes();
        // A receiver always uses the same one of the two: the sender must not choose the weaker one by leaving headers out.
        boolean isStandard = headers.containsKey("webhook-signature");
        boolean isGenuine = isStandard ? verifyStandard(body, headers, args[0]) : verifySignature(body, headers, args[0]);
        System.exit(isGenuine ? 0 : 1);
    }
}
