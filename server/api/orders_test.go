package api

import (
	"net/http"
	"regexp"
	"testing"
)

// An order that ends or takes away something says so before it is given: whatever
// deletes, and whatever its summary tells by such a word.
func TestOrdersThatEnd(t *testing.T) {
	word := regexp.MustCompile(`(?i)\b(remove|end|ended|cancel|stop|drop|undo|take .* away|whatever|ordinary|new conversation|begin a recovery|bring the tree back|into use)\b`)
	found := 0
	for _, o := range orders(New(http.NewServeMux(), Options{})) {
		op := o.Method + " " + o.Path
		if o.Ends != "" {
			found++
		} else if o.Method == http.MethodDelete || word.MatchString(o.Summary) {
			t.Errorf("%s (%s) does not say what it ends", op, o.Summary)
		}
	}
	if found != len(ends) {
		t.Errorf("%d orders say what they end; there are texts for %d", found, len(ends))
	}
}
