package store

import (
	"context"
	"fmt"
	"os"
	"testing"

	"cmux/agents/platform/seal/sealtest"
)

// The test binary is also the process that is killed while it follows.
const rootKey = "CMUX_STORE_TEST_ROOT"

func TestMain(m *testing.M) {
	root := os.Getenv(rootKey)
	if root == "" {
		os.Exit(sealtest.Main(m))
	}
	s, err := Open(context.Background(), root, func(text string) { fmt.Fprintln(os.Stderr, text) })
	if err == nil {
		err = s.Follow(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
