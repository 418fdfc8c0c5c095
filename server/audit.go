package server

import (
	"net/http"

	"cmux/agents/control/records"
	"cmux/server/login"
)

// audited writes each request that changes something into the audit log, with the way it
// was authenticated and whether it was refused.
func (s *site) audited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		a := &answer{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(a, r)
		how := login.How(r.Context())
		o := records.Ordered{Order: r.Method + " " + r.URL.Path, By: "user", How: "api " + how}
		if how == "" { // a signed webhook, or a login
			o.By, o.How = "", "api"
		}
		if a.status >= 400 {
			o.Refused = http.StatusText(a.status)
		}
		if err := s.project.Records().Audit(r.Context(), o); err != nil {
			s.log.Warn("a command is missing in the audit log", "order", o.Order, "err", err)
		}
	})
}

// answer records the status of an answer.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the inner writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
