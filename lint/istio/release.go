package istio

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Release is a minor version of Istio. The zero Release is none.
type Release struct{ Major, Minor int }

// Oracle is the release by whose own compiler meshvet's rules and predictions are proven; what counts where no other is configured.
// Source: the VERSION file of the istio.io/istio module in test/oracle.
var Oracle = Release{1, 31}

// Parse reads 1.31, 1.31.2 or v1.31.2-rc.0. The patch level does not matter: what is told apart comes with minor versions.
func Parse(text string) (Release, error) {
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	if len(parts) >= 2 {
		minor, _, _ := strings.Cut(parts[1], "-")
		major, err1 := strconv.ParseUint(parts[0], 10, 16)
		number, err2 := strconv.ParseUint(minor, 10, 16)
		if err1 == nil && err2 == nil && major > 0 {
			return Release{int(major), int(number)}, nil
		}
	}
	return Release{}, fmt.Errorf("%.40q is not a version of Istio such as 1.31", text)
}

func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Major, r.Minor) }

// Before says whether a release is older than another.
func (r Release) Before(other Release) bool {
	return cmp.Or(cmp.Compare(r.Major, other.Major), cmp.Compare(r.Minor, other.Minor)) < 0
}

// Has says whether what a change calls Now holds for the release.
func (r Release) Has(c *Change) bool { return !r.Before(c.Since) }
