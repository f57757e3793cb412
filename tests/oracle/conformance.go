package main

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cel.dev/expr"
	// The messages that the tests name, so that their text can be read.
	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
	"cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// conformanceTest is one simple test of cel-spec. Want is a value, or nothing for a test that wants an error (Error) or
// something else (Other says what).
type conformanceTest struct {
	File      string            `json:"file"`
	Section   string            `json:"section"`
	Name      string            `json:"name"`
	Expr      string            `json:"expr"`
	Container string            `json:"container,omitempty"`
	NoMacros  bool              `json:"noMacros,omitempty"`
	NoCheck   bool              `json:"noCheck,omitempty"`
	CheckOnly bool              `json:"checkOnly,omitempty"`
	Types     map[string]string `json:"types,omitempty"`
	Bindings  map[string]any    `json:"bindings,omitempty"`
	Want      any               `json:"want,omitempty"`
	WantType  string            `json:"wantType,omitempty"`
	Error     string            `json:"error,omitempty"`
	Other     string            `json:"other,omitempty"`
}

func writeConformance(folder string, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.textproto"))
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var file test.SimpleTestFile
		if err := prototext.Unmarshal(text, &file); err != nil {
			return err
		}
		for _, section := range file.Section {
			for _, one := range section.Test {
				read := readTest(one)
				read.File = strings.TrimSuffix(filepath.Base(path), ".textproto")
				read.Section = section.Name
				if err := encoder.Encode(read); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func readTest(one *test.SimpleTest) conformanceTest {
	read := conformanceTest{
		Name: one.Name, Expr: one.Expr, Container: one.Container,
		NoMacros: one.DisableMacros, NoCheck: one.DisableCheck, CheckOnly: one.CheckOnly,
		Types: map[string]string{}, Bindings: map[string]any{},
	}
	for _, declared := range one.TypeEnv {
		if ident := declared.GetIdent(); ident != nil {
			read.Types[declared.Name] = typeName(ident.Type)
		} else {
			read.Types[declared.Name] = "function"
		}
	}
	for name, bound := range one.Bindings {
		read.Bindings[name] = tagged(bound.GetValue())
	}
	switch wanted := one.ResultMatcher.(type) {
	case *test.SimpleTest_Value:
		read.Want = tagged(wanted.Value)
	case *test.SimpleTest_TypedResult:
		read.WantType = typeName(wanted.TypedResult.DeducedType)
		if wanted.TypedResult.Result != nil {
			read.Want = tagged(wanted.TypedResult.Result)
		}
	case *test.SimpleTest_EvalError:
		read.Error = "error"
		if len(wanted.EvalError.Errors) > 0 {
			read.Error = wanted.EvalError.Errors[0].Message
		}
	case *test.SimpleTest_AnyEvalErrors:
		read.Error = "error"
	case nil:
		// Without a matcher the value has to be true.
		read.Want = map[string]any{"bool": true}
	default:
		read.Other = "unknown values"
	}
	return read
}

// tagged spells a value as {kind: value}; numbers are text, so that nothing is rounded on the way.
func tagged(value *expr.Value) any {
	switch kind := value.GetKind().(type) {
	case *expr.Value_NullValue:
		return map[string]any{"null": nil}
	case *expr.Value_BoolValue:
		return map[string]any{"bool": kind.BoolValue}
	case *expr.Value_Int64Value:
		return map[string]any{"int": strconv.FormatInt(kind.Int64Value, 10)}
	case *expr.Value_Uint64Value:
		return map[string]any{"uint": strconv.FormatUint(kind.Uint64Value, 10)}
	case *expr.Value_DoubleValue:
		return map[string]any{"double": double(kind.DoubleValue)}
	case *expr.Value_StringValue:
		return map[string]any{"string": kind.StringValue}
	case *expr.Value_BytesValue:
		return map[string]any{"bytes": kind.BytesValue}
	case *expr.Value_TypeValue:
		return map[string]any{"type": kind.TypeValue}
	case *expr.Value_ListValue:
		items := []any{}
		for _, item := range kind.ListValue.Values {
			items = append(items, tagged(item))
		}
		return map[string]any{"list": items}
	case *expr.Value_MapValue:
		items := [][]any{}
		for _, entry := range kind.MapValue.Entries {
			items = append(items, []any{tagged(entry.Key), tagged(entry.Value)})
		}
		return map[string]any{"map": items}
	case *expr.Value_ObjectValue:
		message, err := kind.ObjectValue.UnmarshalNew()
		if err != nil {
			return map[string]any{"object": kind.ObjectValue.TypeUrl}
		}
		switch known := message.(type) {
		case *durationpb.Duration:
			return map[string]any{"duration": known.AsDuration().String()}
		case *timestamppb.Timestamp:
			return map[string]any{"timestamp": known.AsTime().Format(time.RFC3339Nano)}
		}
		return map[string]any{"object": kind.ObjectValue.TypeUrl}
	default:
		return map[string]any{"object": "enum"}
	}
}

func double(value float64) string {
	switch {
	case math.IsNaN(value):
		return "NaN"
	case math.IsInf(value, 0):
		return map[bool]string{true: "Infinity", false: "-Infinity"}[value > 0]
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

func typeName(declared *expr.Type) string {
	switch kind := declared.GetTypeKind().(type) {
	case *expr.Type_Primitive:
		return map[expr.Type_PrimitiveType]string{
			expr.Type_BOOL: "bool", expr.Type_INT64: "int", expr.Type_UINT64: "uint", expr.Type_DOUBLE: "double",
			expr.Type_STRING: "string", expr.Type_BYTES: "bytes",
		}[kind.Primitive]
	case *expr.Type_Dyn:
		return "dyn"
	case *expr.Type_Null:
		return "null"
	case *expr.Type_ListType_:
		return "list(" + typeName(kind.ListType.ElemType) + ")"
	case *expr.Type_MapType_:
		return "map(" + typeName(kind.MapType.KeyType) + ", " + typeName(kind.MapType.ValueType) + ")"
	case *expr.Type_WellKnown:
		return map[expr.Type_WellKnownType]string{
			expr.Type_ANY: "any", expr.Type_TIMESTAMP: "timestamp", expr.Type_DURATION: "duration",
		}[kind.WellKnown]
	case *expr.Type_MessageType:
		return "message " + kind.MessageType
	case *expr.Type_AbstractType_:
		return "abstract " + kind.AbstractType.Name
	case *expr.Type_Type:
		return "type"
	case *expr.Type_Wrapper:
		return "wrapper"
	}
	return "other"
}
