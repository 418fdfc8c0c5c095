package mailbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The test binary also runs as the processes that append at the same time.
const roleKey = "CMUX_MAILBOX_TEST_ROLE"

func TestMain(m *testing.M) {
	words := strings.Fields(os.Getenv(roleKey))
	if len(words) == 0 {
		os.Exit(m.Run())
	}
	dir, who := words[0], words[1]
	n, err := strconv.Atoi(words[2])
	if err != nil {
		panic(err)
	}
	b := &Box{Dir: dir, Key: testKey{}, Lazy: true, Full: 3 << 20}
	for i := range n {
		m := message("node:p"+who, "supervisor", strings.Repeat("x", i%300))
		m.ID, m.Subject = fmt.Sprintf("p%s-%d", who, i), strconv.Itoa(i)
		if err := b.Append(context.Background(), true, m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

// testKey makes codes as a person's key does.
type testKey struct{}

func (testKey) code(place string, body []byte) string {
	sum := sha256.Sum256(append([]byte(place+"\x00"), body...))
	return hex.EncodeToString(sum[:8])
}

func (k testKey) Seal(place string, object []byte) ([]byte, error) {
	body := object[:len(object)-1]
	return fmt.Appendf(bytes.Clone(body), `,"mac":%q}`, k.code(place, body)), nil
}

func (k testKey) Open(place string, object []byte) error {
	at := bytes.LastIndex(object, []byte(`,"mac":`))
	if at < 0 || string(object[at:]) != fmt.Sprintf(`,"mac":%q}`, k.code(place, object[:at])) {
		return errors.New("foreign")
	}
	return nil
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func message(from, to, body string) Message {
	return Message{ID: NewID(), TS: noon, From: from, To: to, Subject: "[STATUS] half way", Body: body}
}

func newBox(t testing.TB) *Box {
	dir := filepath.Join(t.TempDir(), ".cmux")
	must(t, os.Mkdir(dir, 0o755))
	return &Box{Dir: dir, Key: testKey{}, Lazy: true}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readAll returns the messages after a place.
func readAll(t testing.TB, b *Box, from Place) (all []Line, r Reading) {
	t.Helper()
	r, err := b.Read(from, nil, func(l Line) error { all = append(all, l); return nil })
	must(t, err)
	return all, r
}

func ids(all []Line) string {
	var out []string
	for _, l := range all {
		out = append(out, l.ID)
	}
	return strings.Join(out, " ")
}
