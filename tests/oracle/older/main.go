// Command older asks the CEL library of an earlier Kubernetes release about selectors, one JSON object a line, as the oracle of
// the newest release does. Build it with the release's modules: go build -modfile=go-1.36.mod
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

type device struct {
	Driver                   string                                                    `json:"driver"`
	AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
	Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
}

// question names the feature gates that are on: fields of cel.Features without "Enable".
type question struct {
	ID         any      `json:"id"`
	Expression string   `json:"expression"`
	Devices    []device `json:"devices"`
	Gates      []string `json:"gates"`
}

type answer struct {
	ID      any      `json:"id"`
	Compile string   `json:"compile,omitempty"`
	MaxCost uint64   `json:"maxCost"`
	Verdict []string `json:"verdict"`
	Cost    []uint64 `json:"cost"`
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			var asked question
			if err := json.Unmarshal(line, &asked); err != nil {
				fmt.Fprintln(os.Stderr, "older:", err)
				os.Exit(1)
			}
			encoder.Encode(ask(asked))
		}
		if err == io.EOF || lines.Buffered() == 0 {
			out.Flush()
		}
		if err == io.EOF {
			return
		}
	}
}

// features has a field for each gate that the release knows.
func features(gates []string) (found cel.Features) {
	for _, gate := range gates {
		if field := reflect.ValueOf(&found).Elem().FieldByName("Enable" + gate); field.IsValid() {
			field.SetBool(true)
		}
	}
	return found
}

func ask(asked question) (answered answer) {
	answered = answer{ID: asked.ID, Verdict: []string{}, Cost: []uint64{}}
	defer func() {
		if panicked := recover(); panicked != nil {
			answered.Compile = fmt.Sprint("panic: ", panicked)
		}
	}()
	result := cel.GetCompiler(features(asked.Gates)).CompileCELExpression(asked.Expression, cel.Options{})
	if result.Error != nil {
		answered.Compile = result.Error.Error()
		return answered
	}
	answered.MaxCost = result.MaxCost
	for _, d := range asked.Devices {
		matches, details, err := result.DeviceMatches(context.Background(), cel.Device{
			Driver:                   d.Driver,
			AllowMultipleAllocations: d.AllowMultipleAllocations,
			Attributes:               d.Attributes,
			Capacity:                 d.Capacity,
		})
		var cost uint64
		if details != nil && details.ActualCost() != nil {
			cost = *details.ActualCost()
		}
		answered.Cost = append(answered.Cost, cost)
		switch {
		case err != nil:
			answered.Verdict = append(answered.Verdict, "error: "+err.Error())
		case matches:
			answered.Verdict = append(answered.Verdict, "match")
		default:
			answered.Verdict = append(answered.Verdict, "no match")
		}
	}
	return answered
}
