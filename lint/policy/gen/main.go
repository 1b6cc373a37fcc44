// Command gen writes policies/capabilities.json: what policies may call, for `opa check --capabilities` and editors.
package main

import (
	"fmt"
	"os"

	"github.com/meshvet/meshvet/lint/policy"
)

func main() {
	js, err := policy.CapabilitiesJSON()
	if err == nil {
		err = os.WriteFile("capabilities.json", js, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
