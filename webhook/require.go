//go:build require

package webhook

import _ "sigs.k8s.io/controller-runtime" // pins the version; this file is in no build
