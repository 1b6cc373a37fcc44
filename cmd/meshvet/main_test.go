package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the stories compare with instead of comparing")

// asProgram is the variable by which the test binary knows that it is to be the program, where a story is not enough.
const asProgram = "MESHVET_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	testscript.Main(renderless{m}, map[string]func(){"meshvet": main})
}

// TestScript runs the stories in testdata/script: each is a folder of files and the commands that a person types in it.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "renderer": renderer},
		Setup: func(env *testscript.Env) error {
			// Nothing of the person who runs the tests may leak in. A repository in the work folder bounds the searches upwards.
			for _, v := range []string{"NO_COLOR", "CLICOLOR_FORCE", "TERM", "GOGC", "GOMEMLIMIT"} {
				env.Setenv(v, "")
			}
			return nil
		},
	})
}

// exits runs a program and wants a certain exit code: exits CODE PROGRAM ARG...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %v", err)
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
