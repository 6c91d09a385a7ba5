# Does a request come from the service? Reads the raw body from standard input; exit code 0 means yes, 1 no.
#   python3 verify.py whsec_… 'webhook-id: …' 'webhook-timestamp: …' 'webhook-signature: …' < body.json
#   python3 verify.py whsec_… 'Signature: …' < body.json
import base64
import hashlib
import hmac
import re
import sys
import time

TOLERANCE_SECONDS = 300


def same(given: str, expected: str) -> bool:
    """Compares in constant time, which does not show how much was right."""
    return hmac.compare_digest(given.encode(), expected.encode())


def verify_standard(body: bytes, headers: dict[str, str], secret: str) -> bool:
    """`webhook-signature`: one of its entries must be right, and the request fresh."""
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not message_id or not re.fullmatch("[0-9]{1,12}", timestamp):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(same(entry, f"v1,{expected}") for entry in headers.get("webhook-signature", "").split(" "))


def verify_signature(body: bytes, headers: dict[str, str], secret: str) -> bool:
    """`Signature`: over the body alone; the key is the whole secret as text."""
    return same(headers.get("signature", ""), hmac.new(secret.encode(), body, hashlib.sha256).hexdigest())


if __name__ == "__main__":
    secret, *lines = sys.argv[1:]
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = sys.stdin.buffer.read()
    # A receiver always uses the same one of the two: the sender must not choose the weaker one by leaving headers out.
    verify = verify_standard if "webhook-signature" in headers else verify_signature
    sys.exit(0 if verify(body, headers, secret) else 1)
