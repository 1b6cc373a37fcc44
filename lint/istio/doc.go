// Package istio knows what versions of Istio do differently, in one table.
package istio
