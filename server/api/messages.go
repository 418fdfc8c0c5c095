package api

import (
	"context"
	"encoding/base64"

	"cmux/agents/control/letters"
	"cmux/signals/mailbox"
)

type messageIn struct {
	ID string `path:"id" maxLength:"64" doc:"Id of a message, or its beginning"`
}

// letter is a message to send.
type letter struct {
	To      string          `json:"to" doc:"supervisor, NAME, SESSION:NAME, node:NAME, user or all"`
	Subject string          `json:"subject" minLength:"1" maxLength:"500"`
	Body    string          `json:"body,omitempty"`
	Urgency mailbox.Urgency `json:"urgency,omitempty" enum:"urgent,interrupt" doc:"When it reaches an agent in a turn; empty: after the turn"`
	Re      string          `json:"re,omitempty" doc:"Id of the message that it answers"`
}

// mailQuery selects messages.
type mailQuery struct {
	Paging
	To      string `query:"to" doc:"Address"`
	From    string `query:"from" doc:"Address"`
	Waiting bool   `query:"waiting" doc:"Only messages that have not reached a recipient"`
}

// messages adds the routes of the mailbox.
func (r *routes) messages() {
	const group, path = "messages", "/api/messages"
	p := r.Project
	newest := func(ctx context.Context, q letters.MailQuery, g Paging) (List[letters.Mail], error) {
		before, err := base64.RawURLEncoding.DecodeString(g.Cursor)
		if err != nil {
			return List[letters.Mail]{}, errCursor()
		}
		all, more, err := p.Letters().Page(ctx, q, string(before), g.Limit)
		l := List[letters.Mail]{Items: all}
		if more {
			l.Next = base64.RawURLEncoding.EncodeToString([]byte(all[len(all)-1].ID))
		}
		return l, err
	}
	get(r, group, path, "List messages, newest first", func(ctx context.Context, i *mailQuery) (List[letters.Mail], error) {
		return newest(ctx, letters.MailQuery{To: i.To, From: i.From, Waiting: i.Waiting}, i.Paging)
	})
	get(r, group, path+"/inbox", "List the messages to you, newest first", func(ctx context.Context, i *struct {
		Paging
		Waiting bool `query:"waiting" doc:"Only unread messages"`
	}) (List[letters.Mail], error) {
		return newest(ctx, letters.MailQuery{Inbox: true, Waiting: i.Waiting}, i.Paging)
	})
	post(r, group, path, "Send a message, as you", func(ctx context.Context, i *struct{ Body letter }) (letters.Sent, error) {
		l := i.Body
		return p.Letters().Send(ctx, letters.Letter{To: l.To, Subject: l.Subject, Body: l.Body, Urgency: l.Urgency, Re: l.Re})
	})
	get(r, group, path+"/{id}", "Show a message with its whole body", func(ctx context.Context, i *messageIn) (letters.Mail, error) {
		return p.Letters().Peek(i.ID)
	})
	post(r, group, path+"/{id}/read", "Show a message and mark it as read if it is to you", func(ctx context.Context, i *messageIn) (letters.Mail, error) {
		return p.Letters().Read(ctx, i.ID)
	})
	post(r, group, path+"/{id}/retry", "Retry a message that was not delivered", func(ctx context.Context, i *messageIn) (recipients, error) {
		to, err := p.Letters().Retry(ctx, i.ID)
		return recipients{to}, err
	})
}

// recipients are those for whom a message is retried.
type recipients struct {
	To []string `json:"to"`
}
