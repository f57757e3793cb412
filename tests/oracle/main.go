// Command oracle asks Kubernetes' own libraries what kube-scheduler would do: it reads questions from standard input, one JSON
// object a line, and writes the answers in the same order.
//
//	oracle                      answer questions: selectors, values of expressions, allocations
//	oracle conformance FOLDER   write the simple tests of cel-spec in FOLDER as JSON lines
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// question is one of three: a selector with devices, an expression whose value is wanted, a set of claims to allocate.
type question struct {
	ID         any           `json:"id"`
	Expression string        `json:"expression"`
	Devices    []device      `json:"devices"`
	Value      string        `json:"value"`
	Allocate   *allocateCall `json:"allocate"`
}

func main() {
	var err error
	switch {
	case len(os.Args) == 1:
		err = answerAll(os.Stdin, os.Stdout)
	case len(os.Args) == 3 && os.Args[1] == "conformance":
		err = writeConformance(os.Args[2], os.Stdout)
	default:
		err = fmt.Errorf("usage: oracle [conformance FOLDER]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func answerAll(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	buffered := bufio.NewWriterSize(out, 1<<16)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	judge := newJudge()
	for {
		line, readErr := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(judge.answer(line)); err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return buffered.Flush()
		}
		if readErr != nil {
			return readErr
		}
		// Whoever waits for an answer has sent nothing more.
		if lines.Buffered() == 0 {
			if err := buffered.Flush(); err != nil {
				return err
			}
		}
	}
}

// badQuestion is the answer to a line that is no question.
type badQuestion struct {
	ID  any    `json:"id"`
	Bad string `json:"bad"`
}

func (j *judge) answer(line []byte) any {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return badQuestion{ID: asked.ID, Bad: err.Error()}
	}
	switch {
	case asked.Allocate != nil:
		return allocate(asked.ID, asked.Allocate)
	case asked.Value != "":
		return j.value(asked.ID, asked.Value)
	default:
		return j.selector(asked.ID, asked.Expression, asked.Devices)
	}
}
