<?php
// Does a request come from the service? Reads the raw body from standard input; exit code 0 means yes, 1 no. PHP 8:
//   php verify.php whsec_… 'webhook-id: …' 'webhook-timestamp: …' 'webhook-signature: …' < body.json
//   php verify.php whsec_… 'Signature: …' < body.json
// In a script of a web server the body is file_get_contents('php://input'), and a header $_SERVER['HTTP_WEBHOOK_ID'].
const TOLERANCE_SECONDS = 300;

/** `webhook-signature`: one of its entries must be right, and the request fresh. */
function verify_standard(string $body, array $headers, string $secret): bool
{
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    if ($id === '' || !preg_match('/^[0-9]{1,12}$/D', $timestamp)) {
        return false;
    }
    if (abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    $right = array_filter(
        explode(' ', $headers['webhook-signature']),
        fn($entry) => hash_equals($expected, $entry), // in constant time
    );
    return $right !== [];
}

/** `Signature`: over the body alone; the key is the whole secret as text. */
function verify_signature(string $body, array $headers, string $secret): bool
{
    return hash_equals(hash_hmac('sha256', $body, $secret), $headers['signature'] ?? '');
}

[, $secret] = $argv;
$headers = [];
foreach (array_slice($argv, 2) as $line) {
    [$name, $value] = explode(':', $line, 2);
    $headers[strtolower($name)] = trim($value);
}
$body = file_get_contents('php://stdin');
// A receiver always uses the same one of the two: the sender must not choose the weaker one by leaving headers out.
$verify = isset($headers['webhook-signature']) ? 'verify_standard' : 'verify_signature';
exit($verify($body, $headers, $secret) ? 0 : 1);
