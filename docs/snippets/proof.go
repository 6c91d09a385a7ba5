// Is the event in the log, as a signed checkpoint says? Reads the answer of GET …/platform/audit/proof from standard
// input, and prints the event; exit code 0 means yes, 1 no.
//
//	go run proof.go "$(cat key)" < proof.json
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func require(is bool, problem string) {
	if !is {
		fmt.Fprintln(os.Stderr, problem)
		os.Exit(1)
	}
}

func bytesOf(text string) []byte {
	decoded, err := base64.StdEncoding.DecodeString(text)
	require(err == nil, "This is no base64.")
	return decoded
}

func hash(parts ...[]byte) []byte {
	sum := sha256.Sum256(bytes.Join(parts, nil))
	return sum[:]
}

func main() {
	var answer struct{ Data struct{ Leaf, Proof string } }
	require(len(os.Args) == 2 && json.NewDecoder(os.Stdin).Decode(&answer) == nil, "This is no proof.")
	key, parts := strings.SplitN(os.Args[1], "+", 3), strings.Split(answer.Data.Proof, "\n\n")
	require(len(key) == 3 && len(parts) == 3, "This is no key, or no proof.")
	head, checkpoint := strings.Split(parts[0], "\n"), strings.Split(parts[1], "\n")
	require(len(head) >= 2 && head[0] == "c2sp.org/tlog-proof@v1" && len(checkpoint) >= 3, "This is no proof.")
	index, indexErr := strconv.ParseInt(strings.TrimPrefix(head[1], "index "), 10, 64)
	size, sizeErr := strconv.ParseInt(checkpoint[1], 10, 64)
	require(indexErr == nil && sizeErr == nil && 0 <= index && index < size, "This is no proof.")

	// The signature (c2sp.org/signed-note).
	typed, signed := bytesOf(key[2]), false
	require(len(typed) == 33 && typed[0] == 1, "This is no key.")
	require(hex.EncodeToString(hash([]byte(key[0]+"\n"), typed)[:4]) == key[1] && checkpoint[0] == key[0], "It is another key.")
	for _, line := range strings.Split(parts[2], "\n") {
		if encoded, isOurs := strings.CutPrefix(line, "— "+key[0]+" "); isOurs {
			signature := bytesOf(encoded)
			signed = signed || (len(signature) == 68 && hex.EncodeToString(signature[:4]) == key[1] &&
				ed25519.Verify(typed[1:], []byte(parts[1]+"\n"), signature[4:]))
		}
	}
	require(signed, "The key has not signed the checkpoint.")

	// The inclusion proof (RFC 9162 §2.1.3.2).
	found, last := hash([]byte{0}, []byte(answer.Data.Leaf)), size-1
	for _, line := range head[2:] {
		require(last > 0, "The proof is too long.")
		if index%2 == 1 || index == last {
			found = hash([]byte{1}, bytesOf(line), found)
			for ; index%2 == 0 && index > 0; index, last = index/2, last/2 {
			}
		} else {
			found = hash([]byte{1}, found, bytesOf(line))
		}
		index, last = index/2, last/2
	}
	require(last == 0 && bytes.Equal(found, bytesOf(checkpoint[2])), "The event is not in the log that was signed.")
	fmt.Println(answer.Data.Leaf)
}
