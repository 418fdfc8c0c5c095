package stage

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// Exit codes of the stage itself, as shells use them.
const (
	exitStage   = 126 // it could not put up the fence
	exitMissing = 127 // the program is not there
)

func init() {
	if len(os.Args) == 0 || os.Args[0] != Name {
		return
	}
	p, path, argv, ok := parse(os.Args[1:])
	if !ok {
		end(exitStage, "not a command line of the stage")
	}
	if err := p.enter(); err != nil {
		end(exitStage, err.Error())
	}
	if path == "" {
		os.Exit(0)
	}
	err := syscall.Exec(path, argv, append(os.Environ(), p.Env...))
	code := exitStage
	if err == syscall.ENOENT {
		code = exitMissing
	}
	end(code, path+": "+err.Error())
}

func end(code int, text string) {
	os.Stderr.WriteString("cmux: fence: " + text + "\n")
	os.Exit(code)
}

// A failure is what the stage was about to do and what the kernel said.
type failure struct {
	what string
	err  error
}

func (f failure) Error() string { return f.what + ": " + f.err.Error() }

func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return failure{what, err}
}

const (
	oPath = 0x200000 // O_PATH

	capSetPCap  = 8
	capSysAdmin = 21

	prCapBSetDrop    = 24
	prSetNoNewPrivs  = 38
	prCapAmbient     = 47
	prCapAmbientZero = 4 // PR_CAP_AMBIENT_CLEAR_ALL

	mountSetAttr         = 442
	landlockAddRule      = 445
	landlockRestrictSelf = 446

	atFDCWD                = -100
	atRecursive            = 0x8000
	mountAttrNoSymlinkWalk = 0x00200000 // MOUNT_ATTR_NOSYMFOLLOW

	writes = 1<<1 | 1<<14 // the rights to write files: LANDLOCK_ACCESS_FS_WRITE_FILE, LANDLOCK_ACCESS_FS_TRUNCATE

	ptyMajors, ptyMajorsEnd = 136, 144 // of UNIX 98 pseudoterminals

	still = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
)

// Needed are the capabilities that the stage uses.
func Needed() []uintptr { return []uintptr{capSetPCap, capSysAdmin} }

// undoing are the capabilities that a process which keeps the others must not have: each
// mounts, enters other namespaces, opens files without their path, reads the memory of
// other processes or of the kernel, or changes the kernel.
var undoing = []uintptr{
	2,  // DAC_READ_SEARCH: open_by_handle_at
	16, // SYS_MODULE
	17, // SYS_RAWIO
	19, // SYS_PTRACE
	capSysAdmin,
	22, // SYS_BOOT: kexec
	25, // SYS_TIME: the clock, by which tokens and limits end
	27, // MKNOD: disks
	32, // MAC_OVERRIDE
	33, // MAC_ADMIN
	38, // PERFMON
	39, // BPF
	40, // CHECKPOINT_RESTORE
}

// enter does all of p but the program.
func (p *Plan) enter() error {
	// The working directory is looked up again among the covers.
	var buf [syscall.PathMax]byte
	n, err := syscall.Getcwd(buf[:])
	if err != nil || n < 1 {
		return failed("the working directory", err)
	}
	dir := string(buf[:n-1])
	// By mistake, all of this would befall whoever started it. A parent that cannot be read is
	// in another user namespace.
	if theirs, err := os.Readlink("/proc/" + strconv.Itoa(os.Getppid()) + "/ns/mnt"); err == nil {
		if own, err := os.Readlink("/proc/self/ns/mnt"); err != nil || own == theirs {
			return failed("the stage has no namespace of its own", syscall.EINVAL)
		}
	}
	// What is mounted outside later appears here, and nothing from here outside.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return failed("mount", err)
	}
	if err := p.copies(); err != nil {
		return err
	}
	if err := p.cover(); err != nil {
		return err
	}
	if p.Terminals {
		if err := p.terminals(); err != nil {
			return err
		}
	}
	for _, path := range p.Plain {
		if err := plain(path); err != nil {
			return failed("following no link in "+path, err)
		}
	}
	if strings.HasPrefix(dir, "/") {
		if err := syscall.Chdir(dir); err != nil {
			return failed("the program works in "+dir+", which is hidden", err)
		}
	}
	if err := p.giveUp(); err != nil {
		return err
	}
	if err := Shield(); err != nil {
		return err
	}
	return p.restrict()
}

// plain mounts a folder over itself so that the kernel follows no link below it.
func plain(path string) error {
	if err := syscall.Mount(path, path, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	attr := struct{ set, clear, propagation, user uint64 }{set: mountAttrNoSymlinkWalk}
	at := atFDCWD
	_, _, errno := syscall.RawSyscall6(mountSetAttr, uintptr(at), uintptr(unsafe.Pointer(name)), atRecursive, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// base is where the empty file and folder lie while the places are covered.
const base = "/dev"

// cover mounts what p wants over the places.
func (p *Plan) cover() error {
	if len(p.Hide)+len(p.Own) == 0 {
		return nil
	}
	// What is shown is opened before anything lies over it.
	shown := make([]int, len(p.Show))
	for i, path := range p.Show {
		fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
		if err != nil {
			fd = -1 // not there: there is nothing to show
		}
		shown[i] = fd
	}
	copies := make([][]byte, len(p.Own))
	for i, path := range p.Own {
		copies[i], _ = os.ReadFile(path) // what cannot be read is no use to the program either
	}
	if err := syscall.Mount("cmux", base, "tmpfs", still, "mode=0755"); err != nil {
		return failed("mounting an empty folder", err)
	}
	const folder, file = base + "/folder", base + "/file"
	if err := syscall.Mkdir(folder, 0o555); err != nil {
		return failed("making an empty folder", err)
	}
	if err := write(file, nil, 0o444); err != nil {
		return failed("making an empty file", err)
	}
	open, err := p.hide(shown, folder, file)
	if err != nil {
		return err
	}
	for i, path := range p.Own {
		if copies[i] == nil {
			continue
		}
		name := base + "/" + strconv.Itoa(i)
		if err := write(name, copies[i], 0o644); err != nil {
			return failed("copying "+path, err)
		}
		if err := syscall.Mount(name, path, "", syscall.MS_BIND, ""); err != nil && err != syscall.ENOENT {
			return failed("replacing "+path, err)
		}
	}
	for _, fd := range shown {
		if fd >= 0 {
			syscall.Close(fd)
		}
	}
	for _, path := range append(open, base) {
		if err := syscall.Mount("", path, "", syscall.MS_REMOUNT|syscall.MS_RDONLY|still, ""); err != nil {
			return failed("closing "+path, err)
		}
	}
	return failed("unmounting", syscall.Unmount(base, 0))
}

// copies lays copies over p.Copies. Each is a mount point, so that nothing can be renamed over
// it, and what is there below stays as it is.
func (p *Plan) copies() error {
	if len(p.Copies) == 0 {
		return nil
	}
	contents := make([][]byte, len(p.Copies))
	for i, path := range p.Copies {
		contents[i], _ = os.ReadFile(path) // what cannot be read is no use to the program either
	}
	if err := syscall.Mount("cmux", base, "tmpfs", still, "mode=0700"); err != nil {
		return failed("mounting a folder of copies", err)
	}
	for i, path := range p.Copies {
		if contents[i] == nil {
			continue
		}
		name := base + "/" + strconv.Itoa(i)
		if err := write(name, contents[i], 0o600); err != nil {
			return failed("copying "+path, err)
		}
		if err := syscall.Mount(name, path, "", syscall.MS_BIND, ""); err != nil {
			if err == syscall.ENOENT {
				continue
			}
			return failed("replacing "+path, err)
		}
		if err := p.allow(path); err != nil {
			return err
		}
	}
	return failed("unmounting", syscall.Unmount(base, 0))
}

// hide covers p.Hide, outer places first, and returns the covers that are not yet
// read-only: those in which something is shown.
func (p *Plan) hide(shown []int, folder, file string) (open []string, err error) {
	type place struct {
		path string
		show int // index in p.Show; -1: it is hidden
	}
	var places []place
	for _, path := range p.Hide {
		places = append(places, place{path, -1})
	}
	for i, path := range p.Show {
		if shown[i] >= 0 {
			places = append(places, place{path, i})
		}
	}
	// An outer path is shorter. There are few, so this is fast enough.
	for i := range places {
		for j := i; j > 0 && len(places[j].path) < len(places[j-1].path); j-- {
			places[j], places[j-1] = places[j-1], places[j]
		}
	}
	var laid []place // what was mounted so far
	for i, pl := range places {
		outer := place{"", 0} // the innermost so far that holds it: not covered
		for _, l := range laid {
			if within(pl.path, l.path) {
				outer = l
			}
		}
		if pl.show >= 0 {
			if outer.show < 0 && outer.path != pl.path {
				if err := show(outer.path, pl.path, shown[pl.show]); err != nil {
					return nil, failed("showing "+pl.path, err)
				}
				laid = append(laid, pl)
			}
			continue
		}
		if outer.show < 0 {
			continue // it is gone already
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(pl.path, &st); err != nil {
			continue // not there, or not for this user
		}
		var err error
		switch st.Mode & syscall.S_IFMT {
		case syscall.S_IFLNK:
			continue
		case syscall.S_IFDIR:
			holds := false
			for _, in := range places[i+1:] {
				holds = holds || in.show >= 0 && in.path != pl.path && within(in.path, pl.path)
			}
			if holds {
				open = append(open, pl.path)
				err = syscall.Mount("cmux", pl.path, "tmpfs", still, "mode=0755")
			} else {
				err = syscall.Mount(folder, pl.path, "", syscall.MS_BIND, "")
			}
		default:
			err = syscall.Mount(file, pl.path, "", syscall.MS_BIND, "")
		}
		if err != nil && err != syscall.ENOENT {
			return nil, failed("hiding "+pl.path, err)
		}
		laid = append(laid, pl)
	}
	return open, nil
}

// show mounts what fd is, a place that was opened before cover lay over it, at its path.
func show(cover, path string, fd int) error {
	at := cover
	parts := strings.Split(path[len(cover)+1:], "/")
	for _, name := range parts[:len(parts)-1] {
		at += "/" + name
		if err := syscall.Mkdir(at, 0o755); err != nil && err != syscall.EEXIST {
			return err
		}
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	var err error
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFLNK:
		return nil
	case syscall.S_IFDIR:
		err = syscall.Mkdir(path, 0o755)
	default:
		err = write(path, nil, 0o444)
	}
	if err != nil && err != syscall.EEXIST {
		return err
	}
	return syscall.Mount("/proc/self/fd/"+strconv.Itoa(fd), path, "", syscall.MS_BIND|syscall.MS_REC, "")
}

// write makes a file. The mode is without the umask, which is the program's.
func write(name string, content []byte, mode uint32) error {
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	for len(content) > 0 && err == nil {
		var n int
		n, err = syscall.Write(fd, content)
		content = content[max(n, 0):]
	}
	if err == nil {
		err = syscall.Fchmod(fd, mode)
	}
	syscall.Close(fd)
	return err
}

// giveUp drops the capabilities with which the covers could be taken away, for good. The
// calling thread is the one that executes the program.
func (p *Plan) giveUp() error {
	drop := undoing
	if !p.Powers {
		drop = nil
		for c := uintptr(0); c < 64; c++ {
			drop = append(drop, c)
		}
	}
	for _, c := range drop {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prCapBSetDrop, c, 0); errno == syscall.EINVAL {
			break // this kernel has neither it nor those behind it
		} else if errno != 0 {
			return failed("giving up rights", errno)
		}
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientZero, 0, 0, 0, 0); errno != 0 {
		return failed("giving up rights", errno)
	}
	head := struct {
		version uint32
		pid     int32
	}{version: 0x20080522}
	var data [2]struct{ effective, permitted, inheritable uint32 }
	if p.Powers {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&data[0])), 0); errno != 0 {
			return failed("giving up rights", errno)
		}
		for _, c := range drop {
			d, bit := &data[c/32], uint32(1)<<(c%32)
			d.effective, d.permitted, d.inheritable = d.effective&^bit, d.permitted&^bit, d.inheritable&^bit
		}
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&data[0])), 0); errno != 0 {
		return failed("giving up rights", errno)
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return failed("giving up rights", errno)
	}
	return nil
}

// restrict puts up Landlock.
func (p *Plan) restrict() error {
	if p.Ruleset == "" {
		return nil
	}
	fd, err := strconv.Atoi(p.Ruleset)
	if err != nil {
		return failed("the ruleset", err)
	}
	_, _, errno := syscall.RawSyscall(landlockRestrictSelf, uintptr(fd), 0, 0)
	syscall.Close(fd)
	if errno != 0 {
		return failed("Landlock", errno)
	}
	return nil
}
