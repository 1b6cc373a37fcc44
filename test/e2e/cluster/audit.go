package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// AuditedGroup is of users all of whose requests are noted.
const AuditedGroup = "audited.e2e.meshvet.dev"

// auditPolicy notes each write of Istio's objects, without their contents: what is wanted are the annotations that
// admission leaves there. It also notes whatever the users of AuditedGroup ask for.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: [` + AuditedGroup + `]
- level: Metadata
  verbs: [create, update, patch, delete]
  resources:
  - group: networking.istio.io
- level: None
`

// AuditEvent is an entry of the API server's audit log.
type AuditEvent struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource  string `json:"resource"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

type auditLog struct{ path string }

// Audit waits for the audit log to have an entry of the verb for the object, and returns the newest.
func (c *Cluster) Audit(ctx context.Context, verb, resource, namespace, name string) (AuditEvent, error) {
	var found AuditEvent
	what := fmt.Sprintf("the audit log knows of %s %s %s/%s", verb, resource, namespace, name)
	err := Poll(ctx, 10*time.Second, what, func(context.Context) error {
		events, err := c.audit.read()
		if err != nil {
			return err
		}
		for i := len(events) - 1; i >= 0; i-- {
			e := &events[i]
			if e.Verb == verb && e.ObjectRef.Resource == resource && e.ObjectRef.Namespace == namespace && e.ObjectRef.Name == name {
				found = *e
				return nil
			}
		}
		return errors.New("no such entry")
	})
	return found, err
}

// AuditOf returns all that the audit log has of a user's requests.
func (c *Cluster) AuditOf(user string) ([]AuditEvent, error) {
	events, err := c.audit.read()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(events, func(e AuditEvent) bool { return e.User.Username != user }), nil
}

func (l *auditLog) read() ([]AuditEvent, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	var events []AuditEvent
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, nil // what has no line end yet is being written
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		var e AuditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		events = append(events, e)
	}
}
