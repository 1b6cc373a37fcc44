package oracle_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/meshvet/meshvet/test/prove/oracle"
)

// The test binary plays the program: what it does with a job is written in the job's objects.
func TestMain(m *testing.M) {
	if os.Getenv("PLAY_ORACLE") == "" {
		os.Exit(m.Run())
	}
	if len(os.Args) > 1 && os.Args[1] == "-version" {
		fmt.Println("v1.2.3")
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	for n := 1; lines.Scan(); n++ {
		var j oracle.Job
		if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
			os.Exit(3)
		}
		switch j.Objects {
		case "die":
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 5000)+"fatal: no more stack")
			os.Exit(2)
		case "die later":
			if n > 1 {
				os.Exit(2)
			}
			fmt.Println(`{"id": "fresh"}`)
		case "hang":
			time.Sleep(time.Hour)
		case "bad":
			fmt.Println(`{"error": "not a job"}`)
		default:
			fmt.Printf(`{"id": %q, "cds": {"b": {"name": "b"}, "a": {"name": "a", "max": 4294967295}}, "rds": {"r": {}}}`+"\n", j.ID)
		}
	}
}

func start(t *testing.T) *oracle.Client {
	t.Helper()
	t.Setenv("PLAY_ORACLE", "yes")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := oracle.Start(t.Context(), self)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func compile(t *testing.T, c *oracle.Client, objects string) (*oracle.Result, error) {
	t.Helper()
	return c.Compile(t.Context(), &oracle.Job{ID: objects, Objects: objects})
}

func TestCompile(t *testing.T) {
	c := start(t)
	if c.Version() != "v1.2.3" {
		t.Errorf("version %q", c.Version())
	}
	for _, id := range []string{"one", "two"} {
		res, err := compile(t, c, id)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range res.Resources() {
			names = append(names, name)
		}
		if got := strings.Join(names, ", "); res.ID != id || got != "cluster a, cluster b, route r" {
			t.Errorf("%s: %s", res.ID, got)
		}
		clusters, err := res.Clusters()
		if err != nil || clusters["a"]["max"] != "4294967295" {
			t.Errorf("%v, %v", clusters, err)
		}
	}
}

func TestFailures(t *testing.T) {
	c := start(t)
	var refused *oracle.RefusedError
	if _, err := compile(t, c, "bad"); !errors.As(err, &refused) || refused.Error() != "job bad: not a job" {
		t.Errorf("a job that is not taken: %v", err)
	}
	var died *oracle.DiedError
	if _, err := compile(t, c, "die"); !errors.As(err, &died) || died.Job != "die" || !strings.HasSuffix(died.Stderr, "no more stack") || len(died.Stderr) > 3000 {
		t.Errorf("a job that kills: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Compile(ctx, &oracle.Job{ID: "slow", Objects: "hang"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a job that takes too long: %v", err)
	}
	if res, err := compile(t, c, "after"); err != nil || res.ID != "after" {
		t.Errorf("the job after those: %v", err)
	}
	// The process is not fresh any more: its death is not held against this job before a second try.
	if res, err := compile(t, c, "die later"); err != nil || res.ID != "fresh" {
		t.Errorf("a job after which the process dies by itself: %v", err)
	}
}

func TestWrongPath(t *testing.T) {
	if _, err := oracle.Start(t.Context(), "no/such/file"); err == nil || !strings.Contains(err.Error(), "make oracle") {
		t.Errorf("%v", err)
	}
}
