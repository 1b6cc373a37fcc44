package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// safeConfig outranks what a repository configures. But for core.fsmonitor, which ls-files would run, none of it is reached by the
// commands that are run here, as far as git is known: it is a second lock.
var safeConfig = [...]string{
	"core.fsmonitor=false",
	"core.hooksPath=" + os.DevNull,
	"core.alternateRefsCommand=",
	"core.pager=cat",
	"core.attributesFile=" + os.DevNull,
	"core.bigFileThreshold=32m", // larger blobs are passed on piece by piece
	"core.warnAmbiguousRefs=true",
	"protocol.allow=never",
}

// kept are the variables that git gets to see. The user's own configuration is among what they lead to, since it says which
// repositories of other owners are to be trusted (safe.directory). What a hook of git sets, such as GIT_DIR, is not: it need not be
// about the repository that is asked for.
var kept = [...]string{
	"PATH", "HOME", "XDG_CONFIG_HOME", "SUDO_UID", "TMPDIR", "LD_LIBRARY_PATH", "GIT_EXEC_PATH",
	"USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "PROGRAMDATA", "SYSTEMROOT", "TEMP", "TMP",
}

// environment is that of every git process. environ is the program's own.
func environment(environ []string) []string {
	env := []string{
		"LC_ALL=C", // messages are looked at
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_PAGER=cat",
		// An object that is missing stays missing. Versions of git before 2.39.4 do not know the first; the second lets no
		// transport run, whatever protocol.*.allow says.
		"GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=",
	}
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		keep := strings.HasPrefix(name, "GIT_CONFIG") // where the user's configuration is, and what the user adds to it
		for _, k := range kept {
			keep = keep || name == k
		}
		if keep {
			env = append(env, v)
		}
	}
	return env
}

// errNoGit is returned where there is no git program. A git in the working directory is none.
var errNoGit = errors.New("git is not found in PATH; install it, since revisions are read with it")

// command prepares a git process in the repository. args are constants and hashes.
func (r *Repository) command(ctx context.Context, args ...string) *exec.Cmd {
	all := []string{"--no-pager"}
	for _, c := range safeConfig {
		all = append(all, "-c", c)
	}
	cmd := exec.CommandContext(ctx, r.git, append(all, args...)...)
	cmd.Dir = r.root
	cmd.Env = r.env
	cmd.WaitDelay = time.Second // what git may have started keeps its pipes open
	return cmd
}

// maxComplaint bounds what is kept of what git says on its standard error.
const maxComplaint = 8 << 10

// complaint is the beginning of what a process says on its standard error.
type complaint struct{ bytes.Buffer }

func (c *complaint) Write(p []byte) (int, error) {
	c.Buffer.Write(p[:min(len(p), maxComplaint-c.Len())])
	return len(p), nil
}

// longest is how long a git command may take that reads little: a pipe that stands where a file belongs never ends.
const longest = time.Minute

var errTooLong = fmt.Errorf("it takes more than %s", longest)

// run runs git to its end. Its output may have up to limit bytes.
func (r *Repository) run(ctx context.Context, limit int, stdin string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, errTooLong)
	defer cancel()
	cmd := r.command(ctx, args...)
	var said complaint
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &said
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", "", fmt.Errorf("run git %s: %w", args[0], err)
	}
	if err := cmd.Start(); err != nil {
		return "", "", fmt.Errorf("run git %s: %w", args[0], err)
	}
	out, readErr := io.ReadAll(io.LimitReader(pipe, int64(limit)+1))
	if len(out) > limit {
		readErr = errors.New("it says too much")
		_ = cmd.Process.Kill() // it may have ended by itself
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return "", "", fmt.Errorf("run git %s: %w", args[0], context.Cause(ctx))
	}
	if readErr != nil {
		return "", "", fmt.Errorf("run git %s: %w", args[0], readErr)
	}
	return string(out), said.String(), err
}

// failed words what a git command failed of.
func (r *Repository) failed(what string, err error, stderr string) error {
	if strings.Contains(stderr, "dubious ownership") {
		return fmt.Errorf("git does not read %s, since it belongs to somebody else; if you trust it: git config --global --add safe.directory %s", r.root, r.root)
	}
	for line := range strings.SplitSeq(stderr, "\n") {
		for _, lead := range [...]string{"fatal: ", "error: "} {
			if said, ok := strings.CutPrefix(line, lead); ok {
				return fmt.Errorf("%s: git says: %s", what, said)
			}
		}
	}
	return fmt.Errorf("%s: git fails: %w", what, err)
}
