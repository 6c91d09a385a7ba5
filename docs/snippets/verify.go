// Does a request come from the service? Reads the raw body from standard input; exit code 0 means yes, 1 no.
//
//	go run verify.go whsec_… 'webhook-id: …' 'webhook-timestamp: …' 'webhook-signature: …' < body.json
//	go run verify.go whsec_… 'Signature: …' < body.json
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const tolerance = 5 * time.Minute

func digest(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// verifyStandard checks webhook-signature: one of its entries must be right, and the request fresh.
func verifyStandard(body []byte, headers http.Header, secret string) bool {
	id, timestamp := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	mac := digest(key, []byte(id+"."+timestamp+"."), body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac))
	for _, entry := range strings.Split(headers.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(entry), expected) { // in constant time
			return true
		}
	}
	return false
}

// verifySignature checks Signature: over the body alone; the key is the whole secret as text.
func verifySignature(body []byte, headers http.Header, secret string) bool {
	expected := hex.EncodeToString(digest([]byte(secret), body))
	return hmac.Equal([]byte(headers.Get("Signature")), []byte(expected))
}

func main() {
	if len(os.Args) < 3 {
		os.Exit(1)
	}
	headers := http.Header{}
	for _, line := range os.Args[2:] {
		name, value, _ := strings.Cut(line, ":")
		headers.Set(name, strings.TrimSpace(value))
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		os.Exit(1)
	}
	// A receiver always uses the same one of the two: the sender must not choose the weaker one by leaving headers out.
	verify := verifySignature
	if _, sent := headers["Webhook-Signature"]; sent {
		verify = verifyStandard
	}
	if !verify(body, headers, os.Args[1]) {
		os.Exit(1)
	}
}
