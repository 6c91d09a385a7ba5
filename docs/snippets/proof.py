# Is the event in the log, as a signed checkpoint says? Reads the answer of GET …/platform/audit/proof from standard
# input, and prints the event; exit code 0 means yes, 1 no. Ed25519 is RFC 8032 §6, as Python has none.
#   python3 proof.py "$(cat key)" < proof.json
import base64, hashlib, json, sys

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def require(is_so, problem):
    if not is_so:
        raise ValueError(problem)


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(number, point):
    result = (0, 1, 1, 0)
    while number > 0:
        if number & 1:
            result = add(result, point)
        point, number = add(point, point), number >> 1
    return result


def point_of(data):
    number = int.from_bytes(data, "little")
    y, sign = number % 2**255, number >> 255
    require(y < P, "This is no point.")
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * pow(2, (P - 1) // 4, P) % P
    require((x * x - square) % P == 0, "This is no point.")
    x = P - x if x % 2 != sign else x
    return x, y, 1, x * y % P


BASE = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_right(key, text, signature):
    s = int.from_bytes(signature[32:], "little")
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + text).digest(), "little") % L
    p, q = times(s, BASE), add(point_of(signature[:32]), times(h, point_of(key)))
    return s < L and (p[0] * q[2] - q[0] * p[2]) % P == 0 and (p[1] * q[2] - q[1] * p[2]) % P == 0


def check(word, leaf, proof):
    head, checkpoint, signatures = proof.split("\n\n")
    version, place, *path = head.split("\n")
    (name, key_id, typed), (origin, size, root, *_) = word.split("+", 2), checkpoint.split("\n")
    raw, index, last = base64.b64decode(typed), int(place.removeprefix("index ")), int(size) - 1
    require(version == "c2sp.org/tlog-proof@v1" and origin == name and 0 <= index <= last, "This is no proof.")
    require(hashlib.sha256(f"{name}\n".encode() + raw).hexdigest()[:8] == key_id and raw[0] == 1, "This is no key.")
    ours = [base64.b64decode(line.split(" ")[2]) for line in signatures.split("\n") if line.startswith(f"— {name} ")]
    note = f"{checkpoint}\n".encode()
    require(any(each[:4].hex() == key_id and is_right(raw[1:], note, each[4:]) for each in ours), "It is not signed.")
    found = hashlib.sha256(b"\0" + leaf.encode()).digest()
    for sibling in map(base64.b64decode, path):  # RFC 9162 §2.1.3.2
        require(last > 0, "The proof is too long.")
        pair = sibling + found if index % 2 == 1 or index == last else found + sibling
        while index == last and index % 2 == 0 and index > 0:
            index, last = index >> 1, last >> 1
        found, index, last = hashlib.sha256(b"\1" + pair).digest(), index >> 1, last >> 1
    require(last == 0 and found == base64.b64decode(root), "The event is not in the log that was signed.")


try:
    data = json.load(sys.stdin)["data"]
    check(sys.argv[1], data["leaf"], data["proof"])
    print(data["leaf"])
except Exception as error:
    sys.exit(str(error))
