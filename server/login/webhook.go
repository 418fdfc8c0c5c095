package login

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// WebhookAge is the maximum age of a webhook, and how far its clock may be ahead.
const WebhookAge = 5 * time.Minute

// Errors of webhooks.
var (
	ErrSignature = errors.New("the webhook is not signed with the secret of its source")
	ErrOld       = errors.New("the webhook is too old, or the clocks differ by more than five minutes")
)

// webhookKey is the secret of a source of webhooks. Each source has its own, so that it can
// only sign for itself.
func (k *Keys) webhookKey(source string) []byte {
	m := hmac.New(sha256.New, k.token)
	m.Write([]byte("webhook\x00" + source))
	return m.Sum(nil)
}

// WebhookSecret returns the secret of a source in the format for programs that send
// webhooks (see standardwebhooks.com).
func (k *Keys) WebhookSecret(source string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(k.webhookKey(source))
}

// CheckWebhook checks the time and the signatures of a webhook; one signature must be
// valid.
func (k *Keys) CheckWebhook(source, id, timestamp, signatures string, body []byte) error {
	m := hmac.New(sha256.New, k.webhookKey(source))
	m.Write([]byte(id + "." + timestamp + "."))
	m.Write(body)
	want := m.Sum(nil)
	good := false
	for s := range strings.FieldsSeq(signatures) {
		code, ok := strings.CutPrefix(s, "v1,")
		if !ok {
			continue
		}
		got, err := base64.StdEncoding.DecodeString(code)
		good = good || err == nil && hmac.Equal(got, want)
	}
	if !good || id == "" {
		return ErrSignature
	}
	unix, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return ErrSignature
	}
	if age := k.now().Sub(time.Unix(unix, 0)); age > WebhookAge || age < -WebhookAge {
		return ErrOld
	}
	return nil
}
