// Package dump reads what a proxy runs: configuration dumps of Envoy, and what istioctl prints of them, in whichever of their
// shapes. It reads them as a stream, resource by resource, so that memory is bounded by the largest resource and not by the file.
//
// The shapes are those of envoy/admin/v3/config_dump.proto and of istioctl's proxy-config commands. They are told apart by their
// field names, since istioctl has them in camel case and Envoy in snake case, and tools like jq reorder them.
package dump
