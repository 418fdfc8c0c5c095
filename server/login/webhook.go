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

// WebhookAge is how old a webhook may be, and how far ahead its clock.
const WebhookAge = 5 * time.Minute

// What is wrong with a webhook.
var (
	ErrSignature = errors.New("the webhook is not signed with the secret of its source")
	ErrOld       = errors.New("the webhook is too old, or the clocks differ by more than five minutes")
)

// webhookKey is the secret of a source of webhooks. Each has its own: who knows
// one can sign for no other.
func (k *Keys) webhookKey(source string) []byte {
	m := hmac.New(sha256.New, k.token)
	m.Write([]byte("webhook\x00" + source))
	return m.Sum(nil)
}

// WebhookSecret is the secret of a source as programs that send webhooks take
// it (see standardwebhooks.com).
func (k *Keys) WebhookSecret(source string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(k.webhookKey(source))
}

// CheckWebhook checks the signatures of a webhook, one of which has to be right,
// and when it was signed.
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
