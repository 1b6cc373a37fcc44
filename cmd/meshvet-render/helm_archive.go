package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
)

// archiveFile reads the files of a packed chart.
func (c *chartLoader) archiveFile(name string, info fs.FileInfo) ([]*archive.BufferedFile, error) {
	where := filepath.ToSlash(name)
	switch {
	case !info.Mode().IsRegular():
		return nil, fail(where, 0, "this is neither a folder nor a packed chart")
	case info.Size() > c.limits.Archive:
		return nil, fail(where, 0, "the packed chart has %s; it may have %s", sizeOf(info.Size()), sizeOf(c.limits.Archive))
	}
	packed, err := c.read(name, info)
	if err != nil {
		return nil, err
	}
	return c.unpack(packed, where)
}

// unpack reads the files of a packed chart. They are counted before Helm's loader unpacks them, which has a bound for each archive, and
// none for all that lie in one another.
func (c *chartLoader) unpack(packed []byte, where string) ([]*archive.BufferedFile, error) {
	if !bytes.HasPrefix(packed, []byte("\x1f\x8b")) {
		return nil, fail(where, 0, "this is no packed chart: name the folder that holds Chart.yaml, or a .tgz made by `helm package`")
	}
	if err := c.measure(packed, where); err != nil {
		return nil, err
	}
	files, err := archive.LoadArchiveFiles(bytes.NewReader(packed))
	if err != nil {
		return nil, fail(where, 0, "the packed chart cannot be unpacked: %s", words(err))
	}
	return files, nil
}

// measure counts the files of an archive against the bounds, without keeping them.
func (c *chartLoader) measure(packed []byte, where string) error {
	broken := func(err error) error { return fail(where, 0, "the packed chart cannot be unpacked: %s", words(err)) }
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return broken(err)
	}
	defer unzipped.Close() //nolint:errcheck // it was only read
	// What is between the files counts for nothing, but takes its time.
	all := &io.LimitedReader{R: unzipped, N: 2*c.limits.Unpacked + 1}
	files := tar.NewReader(all)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) && all.N > 0 {
			return nil
		}
		if all.N <= 0 {
			return fail(where, 0, "the packed chart unpacks to more than %s", sizeOf(2*c.limits.Unpacked))
		}
		if err != nil {
			return broken(err)
		}
		if err := c.spend(header.Size); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, files); err != nil {
			return broken(err)
		}
	}
}
