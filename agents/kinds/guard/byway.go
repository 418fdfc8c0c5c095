package guard

import (
	"slices"
	"strings"
)

// byway says how a program that is no editor of files writes some by the way.
type byway struct {
	short  string   // options whose value is a file or folder that is written
	long   []string // the same by their long names, with one dash or two
	valued string   // other short options that take a value
	reads  string   // short options with which no word is written
	words  int      // of the other words, the one that is written: each (-1), the last of several (1), or none (0)
	here   bool     // it writes where it stands, unless an option names a folder
	hereBy string   // the same with one of these options alone, or its long name
	byLong string
}

const every, last = -1, 1

// byways are the programs that the table of what obviously writes does not have.
var byways = map[string]byway{
	"sort":    {short: "o", long: []string{"output"}, valued: "ktST"},
	"curl":    {short: "oDc", long: []string{"output", "output-dir", "dump-header", "cookie-jar"}, valued: "HdXuAebTFmKxr", hereBy: "OJ", byLong: "remote-name"},
	"wget":    {short: "OoaP", long: []string{"output-document", "output-file", "append-output", "directory-prefix"}, valued: "UtTQeiDXIl", here: true},
	"unzip":   {short: "d", valued: "xP", reads: "lptzvZ", here: true},
	"split":   {valued: "abClnt", words: last},
	"csplit":  {short: "f", long: []string{"prefix"}, valued: "bn", here: true},
	"uniq":    {valued: "fsw", words: last},
	"xxd":     {valued: "cglosR", words: last},
	"iconv":   {short: "o", long: []string{"output"}, valued: "ft"},
	"openssl": {long: []string{"out", "keyout"}},
	"go":      {long: []string{"o", "coverprofile", "cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace"}},
	"cc":      {short: "o", valued: "IDLUlx"}, "gcc": {short: "o", valued: "IDLUlx"}, "clang": {short: "o", valued: "IDLUlx"},
	"gzip": {valued: "S", reads: "clt", words: every}, "gunzip": {valued: "S", reads: "clt", words: every},
	"bzip2": {reads: "ct", words: every}, "bunzip2": {reads: "ct", words: every},
	"xz": {valued: "STFCM", reads: "clt", words: every}, "unxz": {valued: "STFCM", reads: "clt", words: every},
	"patch": {short: "or", long: []string{"output", "reject-file"}, valued: "dipDFgBVYz", words: every},
	"scp":   {valued: "cDFiJloPSX", words: last},
	"ed":    {valued: "p", words: every}, "ex": {valued: "cSTuw", words: every}, "vi": {valued: "cSTuw", words: every}, "vim": {valued: "cSTuw", reads: "RM", words: every}, "nvim": {valued: "cSlu", reads: "RM", words: every},
	"sponge": {words: every},
}

// byway judges what a program writes by the way.
func (s *shell) byway(name string, args []word) {
	switch name {
	case "tar", "bsdtar", "gtar":
		s.tar(args)
		return
	case "awk", "gawk":
		s.awk(args)
		return
	}
	b, ok := byways[name]
	if !ok {
		return
	}
	to, rest := values(args, b.short, b.valued, b.long)
	s.writeAll("writing", to, false)
	switch {
	case has(args, b.reads, "dry-run"):
	case b.words == every:
		s.writeAll("writing", rest, false)
	case b.words == last && len(rest) > 1:
		s.write("writing", rest[len(rest)-1], false)
	case (b.here || b.byLong != "" && has(args, b.hereBy, b.byLong)) && len(to) == 0 && s.dir != "":
		s.write("writing", literal("./x"), false)
	}
}

// values are the values of some options of args, and the words that are neither
// options nor the value of one. Letters of valued take a value too. A long name
// has one dash or two.
func values(args []word, short, valued string, long []string) (of, rest []word) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		next := word{}
		if i+1 < len(args) {
			next = args[i+1]
		}
		name, value, attached := strings.Cut(strings.TrimLeft(a.text, "-"), "=")
		switch {
		case a.is("--"):
			return of, append(rest, args[i+1:]...)
		case !a.option():
			rest = append(rest, a)
		case slices.Contains(long, name):
			if attached {
				of = append(of, word{value, a.whole})
			} else {
				of = append(of, next)
				i++
			}
		case strings.HasPrefix(a.text, "--"):
		default:
			at := strings.IndexAny(a.text[1:], short+valued)
			if at < 0 {
				continue
			}
			value := word{a.text[at+2:], a.whole}
			if value.text == "" {
				value = next
				i++
			}
			if strings.ContainsRune(short, rune(a.text[at+1])) {
				of = append(of, value)
			}
		}
	}
	return of, rest
}

// tar judges an archiver: what it unpacks, and the archive that it writes.
func (s *shell) tar(args []word) {
	if len(args) == 0 {
		return
	}
	if !args[0].option() && args[0].whole { // its options without a dash
		args = append([]word{literal("-" + args[0].text)}, args[1:]...)
	}
	switch {
	case has(args, "x", "extract", "get"):
		if has(args, "O", "to-stdout") {
			return
		}
		to, _ := values(args, "C", "fbITXgHKLNVT", []string{"directory", "cd"})
		if len(to) == 0 && s.dir != "" {
			to = []word{literal("./x")}
		}
		for _, t := range to {
			s.write("unpacking into", word{t.text + "/x", t.whole}, false)
		}
	case has(args, "cruA", "create", "append", "update", "catenate", "concatenate", "delete"):
		to, _ := values(args, "f", "CbITXgHKLNVT", []string{"file"})
		s.writeAll("writing", to, false)
		if s.ReadsOnly() && has(args, "", "remove-files") {
			s.refuse("tar --remove-files" + s.ChangesNothing())
		}
	}
}

// awk judges the files that awk edits in place.
func (s *shell) awk(args []word) {
	if libs, _ := values(args, "i", "fvF", []string{"include"}); !slices.ContainsFunc(libs, func(w word) bool { return strings.HasPrefix(w.text, "inplace") }) {
		return
	}
	_, files := values(args, "i", "fvF", []string{"include"})
	if scripts, _ := values(args, "f", "ivF", []string{"file"}); len(scripts) == 0 && len(files) > 0 {
		files = files[1:]
	}
	s.writeAll("editing", files, false)
}
