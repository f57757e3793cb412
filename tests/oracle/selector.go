package main

import (
	"context"
	"fmt"

	"github.com/google/cel-go/common/types"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

type device struct {
	Driver                   string                                                    `json:"driver"`
	AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
	Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
}

type selectorAnswer struct {
	ID      any      `json:"id"`
	Compile string   `json:"compile,omitempty"`
	MaxCost uint64   `json:"maxCost"`
	Verdict []string `json:"verdict"`
	Cost    []uint64 `json:"cost"`
}

type valueAnswer struct {
	ID      any    `json:"id"`
	Compile string `json:"compile,omitempty"`
	Error   string `json:"error,omitempty"`
	Value   string `json:"value,omitempty"`
}

type compiler interface {
	CompileCELExpression(expression string, options cel.Options) cel.CompilationResult
}

// judge compiles expressions with everything switched on that selectors can use.
type judge struct{ compiler compiler }

func newJudge() *judge {
	return &judge{cel.GetCompiler(cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})}
}

func (j *judge) compile(expression string, options cel.Options) (result cel.CompilationResult, problem string) {
	defer func() {
		if panicked := recover(); panicked != nil {
			problem = fmt.Sprint("panic: ", panicked)
		}
	}()
	result = j.compiler.CompileCELExpression(expression, options)
	if result.Error != nil {
		problem = result.Error.Error()
	}
	return result, problem
}

func (j *judge) selector(id any, expression string, devices []device) selectorAnswer {
	answer := selectorAnswer{ID: id, Verdict: []string{}, Cost: []uint64{}}
	result, problem := j.compile(expression, cel.Options{})
	if problem != "" {
		answer.Compile = problem
		return answer
	}
	answer.MaxCost = result.MaxCost
	for _, d := range devices {
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
		answer.Cost = append(answer.Cost, cost)
		switch {
		case err != nil:
			answer.Verdict = append(answer.Verdict, "error: "+err.Error())
		case matches:
			answer.Verdict = append(answer.Verdict, "match")
		default:
			answer.Verdict = append(answer.Verdict, "no match")
		}
	}
	return answer
}

// value evaluates an expression of any type that does not ask about a device.
func (j *judge) value(id any, expression string) valueAnswer {
	result, problem := j.compile("dyn("+expression+")", cel.Options{DisableCostEstimation: true})
	if problem != "" {
		return valueAnswer{ID: id, Compile: problem}
	}
	value, _, err := result.Program.Eval(map[string]any{"device": map[string]any{}})
	if err != nil {
		return valueAnswer{ID: id, Error: err.Error()}
	}
	return valueAnswer{ID: id, Value: types.Format(value)}
}
