package gateway_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/substrate-tools/substrate/lib/gateway"
)

// document is openapi.json. Every answer that a test here gets is held against it.
type document struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas   map[string]any
		Responses map[string]response
	}
	schemas map[string]*jsonschema.Schema
}

type operation struct{ Responses map[string]response }

type response struct {
	Ref     string `json:"$ref"`
	Headers map[string]any
	Content map[string]struct {
		Schema struct {
			Ref string `json:"$ref"`
		}
	}
}

// parsed reads the document once. A schema with properties takes no others here,
// so that what an answer has and the document has not is noticed.
var parsed = sync.OnceValues(func() (*document, error) {
	var d document
	if err := json.Unmarshal(gateway.OpenAPI, &d); err != nil {
		return nil, err
	}
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(gateway.OpenAPI))
	if err != nil {
		return nil, err
	}
	closed(raw)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("openapi.json", raw); err != nil {
		return nil, err
	}
	d.schemas = map[string]*jsonschema.Schema{}
	for name := range d.Components.Schemas {
		if d.schemas[name], err = c.Compile("openapi.json#/components/schemas/" + name); err != nil {
			return nil, err
		}
	}
	return &d, nil
})

func closed(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
			v["additionalProperties"] = false
		}
		for _, below := range v {
			closed(below)
		}
	case []any:
		for _, below := range v {
			closed(below)
		}
	}
}

// described returns what the document says of an answer, nil for a route that it
// does not know.
func (d *document) described(t *testing.T, method, path string, status int) *response {
	t.Helper()
	for template, methods := range d.Paths {
		if !fits(template, path) {
			continue
		}
		if method == http.MethodHead {
			method = http.MethodGet
		}
		raw, ok := methods[strings.ToLower(method)]
		if !ok {
			return nil
		}
		var op operation
		if err := json.Unmarshal(raw, &op); err != nil {
			t.Fatal(template, err)
		}
		r, ok := op.Responses[strconv.Itoa(status)]
		if !ok {
			t.Fatalf("%s %s: openapi.json has no answer with status %d", method, template, status)
		}
		if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
			r = d.Components.Responses[name]
		}
		return &r
	}
	return nil
}

func fits(template, path string) bool {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	return len(want) == len(have) && !slices.ContainsFunc(want, func(s string) bool {
		i := slices.Index(want, s)
		return s != have[i] && (!strings.HasPrefix(s, "{") || have[i] == "")
	})
}

// check holds an answer against the document.
func (d *document) check(t *testing.T, method, path string, a answer) {
	t.Helper()
	r := d.described(t, method, path, a.status)
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if r == nil { // no route
		if a.status < 400 || kind != "application/json" {
			t.Errorf("%s %s, which openapi.json does not know: %d %s", method, path, a.status, kind)
		}
		d.valid(t, "Error", a.body)
		return
	}
	for name := range r.Headers {
		if a.header.Get(name) == "" {
			t.Errorf("%s %s: %d without %s", method, path, a.status, name)
		}
	}
	content, ok := r.Content[kind]
	if !ok {
		t.Errorf("%s %s: %d with %q, which openapi.json does not know", method, path, a.status, kind)
	}
	schema := strings.TrimPrefix(content.Schema.Ref, "#/components/schemas/")
	switch {
	case method == http.MethodHead || schema == "":
	case kind == "application/jsonl":
		for line := range strings.Lines(a.body) {
			d.valid(t, schema, line)
		}
	default:
		d.valid(t, schema, a.body)
	}
}

// valid holds a piece of JSON against a schema.
func (d *document) valid(t *testing.T, schema, text string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = d.schemas[schema].Validate(v)
	}
	if err != nil {
		t.Errorf("no %s: %v\n%s", schema, err, text)
	}
}

func openapi(t *testing.T) *document {
	t.Helper()
	d, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOpenAPIKnowsEveryRoute(t *testing.T) {
	d, h := openapi(t), serve(t)
	var known []string
	for path, methods := range d.Paths {
		for method := range methods {
			if method != "parameters" {
				known = append(known, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(known)
	routes := slices.DeleteFunc(h.Patterns(), func(p string) bool { return p[0] == '/' }) // the rest: 404
	if !slices.Equal(known, routes) {
		t.Errorf("openapi.json has\n%q\nand the handlers\n%q", known, routes)
	}
	if len(routes) < 16 {
		t.Errorf("only %d routes", len(routes))
	}
}

func TestOpenAPIIsServedToAnybody(t *testing.T) {
	h := serve(t)
	a := h.ask("GET", "/v1/openapi.json", "", nil)
	if a.status != 200 || a.body != string(gateway.OpenAPI) {
		t.Errorf("%d, %d bytes", a.status, len(a.body))
	}
	var d struct{ OpenAPI string }
	if err := json.Unmarshal([]byte(a.body), &d); err != nil || d.OpenAPI != "3.1.0" {
		t.Errorf("version %q, %v", d.OpenAPI, err)
	}
}

// TestTheCheckChecks breaks answers, each of which has to be noticed.
func TestTheCheckChecks(t *testing.T) {
	d, h := openapi(t), serve(t)
	a := h.ask("GET", "/v1/rooms/design", "dan", nil)
	for what, body := range map[string]string{
		"a key more": strings.Replace(a.body, `{`, `{"path":"/root",`, 1), "a root": strings.Replace(a.body, `"root":""`, `"root":"/x"`, 1),
		"a key less": strings.Replace(a.body, `"thread":"design",`, ``, 1), "null": strings.Replace(a.body, `"quieted":{}`, `"quieted":null`, 1),
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil || body == a.body {
			t.Fatal(what, err)
		}
		if d.schemas["LiveRoom"].Validate(v) == nil {
			t.Errorf("%s goes unnoticed", what)
		}
	}
}
