package login

import (
	"html/template"
	"net/http"
)

const pageStyle = `body{font:16px/1.5 system-ui,sans-serif;margin:4rem auto;max-width:34rem;padding:0 1rem}code{background:#8883;padding:.1em .3em;border-radius:3px}:root{color-scheme:light dark}`

// pageText is the only page of this package: what happened, and what to do.
const pageText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
{{with .Next}}<meta http-equiv="refresh" content="0;url={{.}}">{{end}}<title>cmux</title>
<style>` + pageStyle + `</style>
</head><body><h1>{{.Title}}</h1>
<p>{{.Text}} {{if .Next}}<a href="{{.Next}}">the dashboard</a>{{else}}<code>{{.Way}}</code>{{end}}.</p>
</body></html>
`

func page(w http.ResponseWriter, status int, title, text, way, next string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	AllowStyle(w.Header(), pageStyle)
	w.WriteHeader(status)
	template.Must(template.New("page").Parse(pageText)).Execute(w, struct{ Title, Text, Way, Next string }{title, text, way, next})
}

const pairStyle = pageStyle + `input,button{font:inherit;padding:.5rem}input{width:10rem;letter-spacing:.1em;text-transform:uppercase}`

// pairText is the page that asks for the code. The address contains no part of the code.
const pairText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Pair with cmux</title>
<style>` + pairStyle + `</style>
</head><body><h1>Pair with cmux</h1>
{{with .}}<p role="alert">{{.}}</p>
{{end}}<form method="post" action="` + PairPath + `">
<p><label for="code">The code that cmux shows in the terminal</label></p>
<p><input id="code" name="code" required maxlength="20" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" autofocus>
<button>Pair</button></p>
</form>
</body></html>
`

// pairPage asks for the code and shows the error of the last one.
func pairPage(w http.ResponseWriter, status int, said string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	AllowStyle(w.Header(), pairStyle)
	// A browser that sends no referrer also sends no origin with a form.
	w.Header().Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	template.Must(template.New("pair").Parse(pairText)).Execute(w, said)
}
