package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine is how long the line of a job may be, in bytes.
const maxLine = 16 << 20

// serve answers one job a line until its input ends. A line that is no job is answered too. The error is one of the streams.
func serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	answers := bufio.NewWriter(out)
	encoder := json.NewEncoder(answers)
	encoder.SetEscapeHTML(false)
	for {
		line, tooLong, err := readLine(lines)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return fmt.Errorf("read jobs: %w", err)
		}
		var res *Result
		switch {
		case tooLong:
			res = &Result{Error: fmt.Sprintf("the job is longer than %d MiB", maxLine>>20)}
		case len(bytes.TrimSpace(line)) > 0:
			res = answer(line)
		}
		if res != nil {
			if err := encoder.Encode(res); err != nil {
				return fmt.Errorf("write answers: %w", err)
			}
			if err := answers.Flush(); err != nil {
				return fmt.Errorf("write answers: %w", err)
			}
		}
		if last {
			return nil
		}
	}
}

func answer(line []byte) *Result {
	var j Job
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&j); err != nil {
		return &Result{ID: j.ID, Error: fmt.Sprintf("not a job: %s", err)}
	}
	return compile(&j)
}

// readLine reads a line of any length and keeps no more than maxLine bytes of it.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}
