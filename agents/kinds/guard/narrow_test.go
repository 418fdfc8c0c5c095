package guard_test

import (
	"slices"
	"strings"
	"testing"
)

// TestNarrowRunsHideNothing puts words that write, load or run something else into
// texts that run less than a check does. None of them is granted.
func TestNarrowRunsHideNothing(t *testing.T) {
	t.Parallel()
	runs := map[string][]string{
		"go test ./...":       {"go test", "go test ./api", "go test -v -run TestX ./api/...", "go vet ./...", "go build ./...", "go build -o /dev/null .", "go list ./...", "go doc ./api X", "go env GOVERSION", "gofmt -l src/auth", "go version"},
		"python3 -m unittest": {"python3 -m unittest -v tests.test_fare", "python3 -m unittest tests/test_fare.py -k one", "python3 -m unittest discover -s tests -v", "python3 -m py_compile a.py", "python3 --version"},
		"pytest":              {"pytest -q", "pytest -x tests/test_fare.py::TestFare -k one", "pytest --tb=short tests/"},
		"make check":          {"make -s check", "make check -j4"},
		"npm test":            {"npm test --silent", "npm run test", "npm --version"},
		"cargo test":          {"cargo test -q", "cargo test parses --lib", "cargo build -q", "cargo check"},
	}
	hostile := strings.Fields(`-exec=x -exec --exec -toolexec=x --toolexec=x -toolex=x -o -o=x -ox -c -coverprofile=x -cpuprofile=x -trace=x -outputdir=x -args --args -args=x -mod=mod -modfile=x -modfile -overlay=x -overlay -C -C=.. -C.. -ldflags=-extld=x -gcflags=-x -pkgdir=x
		-vettool=x -export -f -f=x -w -u -http -d=x -e -m -n -test.outputdir=x -fuzz=x -work -tags=x -buildmode=plugin -asan -bench=. --cpuprofile=x all std cmd ../x ./../x /x x.go example.com/x@latest ./link/../../x
		-p -p=x -p=pkg -c=x --rootdir=/x --root=/x -oaddopts=x --override-ini=x --confcutdir=/ --basetemp=x --junitxml=x --junit-xml=x --pdb --pdbcls=x:y --pyargs --import-mode=append --pastebin=all @x conftest.py os http.server tests..x tests.test_fare.main tests.test_fare.Run -t --top-level-directory=/ --start-directory=/ --pattern=x
		-f=x -f -fx --file=x --makefile=x -C/ --directory=/ --eval=x --eval -E SHELL=x X=1 -I/ -W/x -n install ../x -e --prefix=/ --prefix / --script-shell=x --ignore-scripts=false --node-options=x --userconfig=x -C/x --workspace=x -w -- exec
		--config=x --config --manifest-path=/x --target-dir=/x -Zx -Z --package=x --features=x +nightly -- --nocapture --test-threads=1 --bin=x --release --example=x --exclude=x
		--include=x -r -R -rn -P -ff/x --pre=x 1w/x 1e s/a/b/w 1r/x --output=x --out=x --compress-program=x -T/x --files0-from=x --debug -i -i.x --in-place --expression=1e -s -z $X $(x) ~/x x* {a,b} <x >x >>x 2>x & ;x ` + "`x` $'x' =x")
	// A name is a test, a file or a variable to these, and these options mean no harm.
	names, harmless := []string{"go env", "gofmt -l", "cargo test", "python3 -m py_compile"}, map[string][]string{"python3 -m unittest": {"-f"}, "pytest": {"-s"}, "make check": {"-s"}, "npm test": {"-s", "--silent"}, "gofmt -l src/auth": {"-s"}}
	for check, texts := range runs {
		p := checked()
		p.Machine, p.Verify = pythonic{}, []string{check}
		for _, text := range texts {
			if !granted(p, bash(text)) {
				t.Errorf("check %q: %q is not granted", check, text)
			}
			words := strings.Fields(text)
			for _, h := range hostile {
				if slices.Contains(slices.Concat(harmless[check], harmless[text]), h) || !strings.HasPrefix(h, "-") && slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(text, n) }) {
					continue
				}
				for at := 1; at <= len(words); at++ {
					if other := strings.Join(slices.Insert(slices.Clone(words), at, h), " "); granted(p, bash(other)) {
						t.Errorf("check %q: granted %q", check, other)
					}
				}
			}
		}
	}
}
