package signals

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func BenchmarkMarker(b *testing.B) {
	b.Run("prepare+publish", func(b *testing.B) {
		dir := b.TempDir()
		i := 0
		for b.Loop() {
			p, err := Prepare(dir, strconv.Itoa(i), 0)
			if err != nil {
				b.Fatal(err)
			}
			if err := p.Publish(); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
	b.Run("hidden file", func(b *testing.B) {
		dir := b.TempDir()
		i := 0
		for b.Loop() {
			p, err := prepareNamed(filepath.Join(dir, strconv.Itoa(i)+Suffix), Exit(0))
			if err != nil {
				b.Fatal(err)
			}
			if err := p.Publish(); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
	b.Run("floor=create+write+link+unlink", func(b *testing.B) {
		dir := b.TempDir()
		i := 0
		for b.Loop() {
			name := filepath.Join(dir, strconv.Itoa(i)+Suffix)
			fd, err := unix.Open(name+".tmp", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
			if err != nil {
				b.Fatal(err)
			}
			unix.Write(fd, []byte("0\n"))
			unix.Close(fd)
			if err := unix.Link(name+".tmp", name); err != nil {
				b.Fatal(err)
			}
			unix.Unlink(name + ".tmp")
			i++
		}
	})
}

func BenchmarkLogAppend(b *testing.B) {
	line := []byte(`{"attempt":1,"event":"end","exit":0,"marker":{"inode":12345,"size":2,"mtime":1764000000123456789}}`)
	ctx := context.Background()
	b.Run("durable=false", func(b *testing.B) {
		l := openLog(b, filepath.Join(b.TempDir(), "log"))
		for b.Loop() {
			must(b, l.Append(ctx, false, line))
		}
	})
	b.Run("durable=true", func(b *testing.B) {
		l := openLog(b, filepath.Join(b.TempDir(), "log"))
		for b.Loop() {
			must(b, l.Append(ctx, true, line))
		}
	})
	b.Run("durable=true/writers=8", func(b *testing.B) {
		l := openLog(b, filepath.Join(b.TempDir(), "log"))
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				must(b, l.Append(ctx, true, line))
			}
		})
	})
	b.Run("floor=write+fdatasync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "log"))
		must(b, err)
		defer f.Close()
		for b.Loop() {
			f.Write(append(line, '\n'))
			must(b, datasync(f))
		}
	})
}

func BenchmarkLock(b *testing.B) {
	path := filepath.Join(b.TempDir(), "lock")
	for b.Loop() {
		l, err := TryLock(path)
		must(b, err)
		must(b, l.Unlock())
	}
}

func BenchmarkInit(b *testing.B) {
	root := b.TempDir()
	must(b, Init(root))
	for b.Loop() {
		must(b, Init(root))
	}
}
