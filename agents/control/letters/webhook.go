package letters

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"cmux/agents/control/project"
	"cmux/agents/records/mail"
	"cmux/signals/mailbox"
)

// Webhook is what another program sent, whose signature was checked.
type Webhook struct {
	Source string
	ID     string // of the sending, which is repeated when it is sent again
	Event  string // what happened, as the program names it; may be empty
	Body   string
}

// WebhookSession stands before the name of a webhook's source in its address.
const WebhookSession = "webhook"

// TakeWebhook makes a message to the supervisor of a webhook, once for each id.
func (p *Letters) TakeWebhook(ctx context.Context, h Webhook) (Sent, error) {
	from := mailbox.Address{Session: WebhookSession, Name: h.Source}.String()
	if _, err := mailbox.ParseAddress(from); err != nil {
		return Sent{}, project.Tag(fmt.Errorf("there is no webhook %q", h.Source), project.ErrMissing)
	}
	sum := sha256.Sum256([]byte(h.Source + "\x00" + h.ID))
	sent := Sent{ID: "wh-" + hex.EncodeToString(sum[:16]), From: from, To: "supervisor", Verified: true}
	if came, err := p.Has(sent.ID); err != nil || came { // it was sent again, as nobody had heard that it came
		return sent, err
	}
	post, err := mail.Open(p.Root, p.Now)
	if err != nil {
		return Sent{}, err
	}
	subject := "webhook " + h.Source
	if h.Event != "" {
		subject += ": " + h.Event
	}
	m := mailbox.Message{ID: sent.ID, From: from, To: sent.To, Subject: subject, Body: h.Body}
	if _, err := post.Send(ctx, m, true); err != nil {
		return Sent{}, err
	}
	return sent, nil
}
