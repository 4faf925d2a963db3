// Command fake-model is a model endpoint for tests: it speaks the wire formats of OpenAI (responses, chat
// completions), Anthropic (messages) and Gemini (generateContent), streaming or not, and thinks nothing.
//
// What it answers follows from the request alone. The question is the last ask-N in it; the answer is
// "NAME answers ask-N", NAME being who the offer in the request is for. When the request says to post with
// substrate-post and brings a tool that runs commands, the model calls that tool once and then says so. A hook that
// names a room by "substrate-brief ROOM --for NAME --space 'DIR'" is followed in the same way.
//
// When the request says to answer by check_turn, read_thread, write_entry and brings these tools, the model calls one
// after the other, and knows nothing but their results: the version is what check_turn says, the question the last
// ask-N in what read_thread gives.
//
//	fake-model ADDR LOG      listens on ADDR, appends one JSON line a request to LOG
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
)

type object = map[string]any
type list = []any

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: fake-model ADDR LOG")
	}
	out, err := os.OpenFile(os.Args[2], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		log.Fatal(err)
	}
	m := model{log: log.New(out, "", 0), wires: map[string]wire{
		"/responses":        responses{},
		"/chat/completions": chat{},
		"/messages":         messages{},
		"enerateContent":    gemini{},
	}}
	log.Fatal(http.ListenAndServe(os.Args[1], m))
}

// A wire is one vendor's format.
type wire interface {
	// tools returns the tools of a request by name.
	tools(q object) map[string]tool
	// results returns the results of calls that a request holds, as their texts.
	results(q object) []string
	// say and call write an answer: a text, or the call of a tool.
	say(w *writer, text string)
	call(w *writer, t tool, args object)
}

type tool struct {
	name, namespace string
	properties      object
}

type model struct {
	log   *log.Logger
	wires map[string]wire // by how a path ends
}

// writer is where an answer goes: one object, or a stream of events.
type writer struct {
	http.ResponseWriter
	stream bool
	model  any
}

func (w *writer) whole(v any) {
	w.Header().Set("content-type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func (w *writer) event(kind string, v any) {
	w.Header().Set("content-type", "text/event-stream")
	if kind != "" {
		fmt.Fprintf(w, "event: %s\n", kind)
	}
	b, _ := json.Marshal(v)
	fmt.Fprintf(w, "data: %s\n\n", b)
	w.ResponseWriter.(http.Flusher).Flush()
}

func (m model) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q object
	json.Unmarshal(body, &q)
	w := &writer{ResponseWriter: rw, model: q["model"]}
	w.stream, _ = q["stream"].(bool)
	w.stream = w.stream || strings.Contains(r.URL.Path, "stream")
	switch {
	case strings.HasSuffix(r.URL.Path, "/models"):
		w.whole(object{"object": "list", "data": list{object{"id": "fake-1", "object": "model"}}, "models": list{}})
		return
	case strings.HasSuffix(r.URL.Path, "count_tokens"), strings.HasSuffix(r.URL.Path, ":countTokens"):
		w.whole(object{"input_tokens": 10, "totalTokens": 10})
		return
	}
	for suffix, known := range m.wires {
		if strings.HasSuffix(r.URL.Path, suffix) {
			m.answer(w, r, known, q, string(body))
			return
		}
	}
	m.note(r, object{"unknown": true})
	w.WriteHeader(http.StatusNotFound)
	w.whole(object{"error": object{"message": "not found", "type": "not_found_error"}})
}

// note writes down a request: never its key, of which only the length is of interest.
func (m model) note(r *http.Request, what object) {
	key := r.Header.Get("authorization") + r.Header.Get("x-api-key") + r.Header.Get("x-goog-api-key")
	what["method"], what["path"], what["key_bytes"] = r.Method, r.URL.Path, len(key)
	line, _ := json.Marshal(what)
	m.log.Print(string(line))
}

var (
	question = regexp.MustCompile(`ask-[0-9]+`)
	hooked   = regexp.MustCompile(`substrate-brief ([a-z0-9./-]+) --for ([a-z0-9./-]+) --space '([^']+)'`)
	// In the body of a request a quotation mark is escaped, once or twice.
	asked   = regexp.MustCompile(`You are \\+"([a-z0-9-]+)\\+" in the room \\+"([a-z0-9-]+)\\+"`)
	version = regexp.MustCompile(`"version":([0-9]+)`)
)

// steps are the tools of substrate-mcp with which a turn is taken.
var steps = []string{"check_turn", "read_thread", "write_entry"}

func (m model) answer(w *writer, r *http.Request, f wire, q object, body string) {
	who, room := "nobody", "nowhere"
	if found := asked.FindAllStringSubmatch(body, -1); found != nil {
		who, room = found[len(found)-1][1], found[len(found)-1][2]
	}
	post, told := "substrate-post", strings.Contains(body, "Post your entry with substrate-post")
	if found := hooked.FindStringSubmatch(body); found != nil {
		who, told = found[2], true
		post += " " + found[1] + " --as " + who + " --space '" + found[3] + "'"
	}
	what, tools, results := last(question, body, "nothing"), f.tools(q), f.results(q)
	text := who + " answers " + what
	did := object{"for": who, "asked": what, "tools": len(tools), "results": results}
	defer m.note(r, did)
	var t tool
	var args object
	switch {
	case strings.Contains(body, "by "+strings.Join(steps, ", ")):
		t, args = step(tools, who, room, results)
	case told && len(results) == 0:
		t, args = shell(tools, "printf '"+text+"' | "+post)
	}
	if t.name == "" {
		did["says"] = text
		f.say(w, text)
		return
	}
	did["calls"], did["args"] = t.name, args
	f.call(w, t, args)
}

// last returns the last match in a text, of the pattern or of its group.
func last(pattern *regexp.Regexp, text, none string) string {
	found := pattern.FindAllStringSubmatch(text, -1)
	if found == nil {
		return none
	}
	match := found[len(found)-1]
	return match[len(match)-1]
}

// step returns the tool of substrate-mcp whose turn it is, and its arguments. Clients put a prefix before its name.
func step(tools map[string]tool, who, room string, results []string) (tool, object) {
	if len(results) >= len(steps) {
		return tool{}, nil
	}
	args := object{"thread": room}
	switch len(results) {
	case 1:
		args["last_n"] = 20
	case 2:
		args["content"] = who + " answers " + last(question, results[1], "nothing")
		args["expect_version"], _ = strconv.Atoi(last(version, results[0], "-1"))
	}
	for name, t := range tools {
		if strings.HasSuffix(strings.ReplaceAll(name, "__", "_"), "substrate_"+steps[len(results)]) {
			return t, args
		}
	}
	return tool{}, nil
}

// shell returns the tool that runs a command, and its arguments.
func shell(tools map[string]tool, command string) (tool, object) {
	for _, name := range []string{"exec_command", "shell_command", "shell", "local_shell", "bash", "Bash", "run_shell_command"} {
		t, ok := tools[name]
		if !ok {
			continue
		}
		args := object{}
		for key, schema := range t.properties {
			switch key {
			case "command", "cmd":
				args[key] = command
				if s, _ := schema.(object); s["type"] == "array" {
					args[key] = list{"sh", "-c", command}
				}
			case "description":
				args[key] = "post an entry"
			}
		}
		return t, args
	}
	return tool{}, nil
}

// each walks the elements of a list that are objects.
func each(v any, f func(object)) {
	all, _ := v.([]any)
	for _, one := range all {
		if o, ok := one.(object); ok {
			f(o)
		}
	}
}

func properties(schema any) object {
	s, _ := schema.(object)
	p, _ := s["properties"].(object)
	return p
}

// collect returns, in order, what is under a key in the objects within v that have another key at a value.
func collect(v any, key, value, what string) (all []string) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			all = append(all, collect(one, key, value, what)...)
		}
	case object:
		if v[key] == value {
			return []string{text(v[what])}
		}
		for _, one := range v {
			all = append(all, collect(one, key, value, what)...)
		}
	}
	return all
}

// text returns the text in the result of a call, which clients wrap up in their own ways: in a list of parts, or as
// JSON in a string.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		each(v, func(part object) { b.WriteString(text(part["text"])) })
		return b.String()
	case nil:
		return ""
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func encoded(args object) string {
	b, _ := json.Marshal(args)
	return string(b)
}

// responses is OpenAI's /v1/responses.
type responses struct{}

func (responses) tools(q object) map[string]tool {
	all := map[string]tool{}
	add := func(namespace string) func(object) {
		prefix := ""
		if namespace != "" {
			prefix = namespace + "__"
		}
		return func(t object) {
			if name, ok := t["name"].(string); ok && t["type"] == "function" {
				all[prefix+name] = tool{name, namespace, properties(t["parameters"])}
			}
		}
	}
	each(q["tools"], add(""))
	each(q["tools"], func(t object) {
		if name, ok := t["name"].(string); ok && t["type"] == "namespace" {
			each(t["tools"], add(name))
		}
	})
	return all
}

func (responses) results(q object) []string {
	return collect(q["input"], "type", "function_call_output", "output")
}

func (f responses) say(w *writer, text string) {
	f.send(w, object{
		"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
		"content": list{object{"type": "output_text", "text": text, "annotations": list{}}},
	}, text)
}

func (f responses) call(w *writer, t tool, args object) {
	item := object{
		"type": "function_call", "id": "fc_" + t.name, "call_id": "call_" + t.name, "name": t.name,
		"arguments": encoded(args), "status": "completed",
	}
	if t.namespace != "" {
		item["namespace"] = t.namespace
	}
	f.send(w, item, "")
}

func (responses) send(w *writer, item object, text string) {
	whole := object{
		"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": w.model,
		"output": list{item},
		"usage": object{
			"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 5,
			"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 15,
		},
	}
	if !w.stream {
		w.whole(whole)
		return
	}
	part := func(kind string, more object) {
		more["type"] = kind
		w.event(kind, more)
	}
	part("response.created", object{"response": object{"id": "resp_1", "object": "response", "status": "in_progress", "output": list{}}})
	part("response.output_item.added", object{"output_index": 0, "item": item})
	if text != "" {
		part("response.output_text.delta", object{"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text})
	}
	part("response.output_item.done", object{"output_index": 0, "item": item})
	part("response.completed", object{"response": whole})
}

// chat is OpenAI's /v1/chat/completions.
type chat struct{}

func (chat) tools(q object) map[string]tool {
	all := map[string]tool{}
	each(q["tools"], func(t object) {
		f, _ := t["function"].(object)
		if name, ok := f["name"].(string); ok {
			all[name] = tool{name: name, properties: properties(f["parameters"])}
		}
	})
	return all
}

func (chat) results(q object) []string { return collect(q["messages"], "role", "tool", "content") }

func (f chat) say(w *writer, text string) {
	f.send(w, object{"role": "assistant", "content": text}, "stop")
}

func (f chat) call(w *writer, t tool, args object) {
	f.send(w, object{"role": "assistant", "content": nil, "tool_calls": list{object{
		"index": 0, "id": "call_" + t.name, "type": "function",
		"function": object{"name": t.name, "arguments": encoded(args)},
	}}}, "tool_calls")
}

func (chat) send(w *writer, message object, reason string) {
	usage := object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	answer := func(kind, key string, message object, reason any) object {
		return object{
			"id": "c1", "object": kind, "created": 1, "model": w.model, "usage": usage,
			"choices": list{object{"index": 0, key: message, "finish_reason": reason}},
		}
	}
	if !w.stream {
		w.whole(answer("chat.completion", "message", message, reason))
		return
	}
	w.event("", answer("chat.completion.chunk", "delta", message, nil))
	w.event("", answer("chat.completion.chunk", "delta", object{}, reason))
	io.WriteString(w, "data: [DONE]\n\n")
}

// messages is Anthropic's /v1/messages.
type messages struct{}

func (messages) tools(q object) map[string]tool {
	all := map[string]tool{}
	each(q["tools"], func(t object) {
		if name, ok := t["name"].(string); ok {
			all[name] = tool{name: name, properties: properties(t["input_schema"])}
		}
	})
	return all
}

func (messages) results(q object) []string {
	return collect(q["messages"], "type", "tool_result", "content")
}

func (f messages) say(w *writer, text string) {
	f.send(w, object{"type": "text", "text": text}, object{"type": "text", "text": ""},
		object{"type": "text_delta", "text": text}, "end_turn")
}

func (f messages) call(w *writer, t tool, args object) {
	block := func(args object) object {
		return object{"type": "tool_use", "id": "toolu_" + t.name, "name": t.name, "input": args}
	}
	f.send(w, block(args), block(object{}),
		object{"type": "input_json_delta", "partial_json": encoded(args)}, "tool_use")
}

func (messages) send(w *writer, block, begun, delta object, reason string) {
	answer := func(content list, reason any) object {
		return object{
			"id": "msg_1", "type": "message", "role": "assistant", "model": w.model, "content": content,
			"stop_reason": reason, "stop_sequence": nil, "usage": object{
				"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
			},
		}
	}
	if !w.stream {
		w.whole(answer(list{block}, reason))
		return
	}
	part := func(kind string, more object) {
		more["type"] = kind
		w.event(kind, more)
	}
	part("message_start", object{"message": answer(list{}, nil)})
	part("content_block_start", object{"index": 0, "content_block": begun})
	part("content_block_delta", object{"index": 0, "delta": delta})
	part("content_block_stop", object{"index": 0})
	part("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 5}})
	part("message_stop", object{})
}

// gemini is Google's generateContent.
type gemini struct{}

func (gemini) tools(q object) map[string]tool {
	all := map[string]tool{}
	each(q["tools"], func(t object) {
		each(t["functionDeclarations"], func(f object) {
			schema := f["parametersJsonSchema"]
			if schema == nil {
				schema = f["parameters"]
			}
			if name, ok := f["name"].(string); ok {
				all[name] = tool{name: name, properties: properties(schema)}
			}
		})
	})
	return all
}

func (gemini) results(q object) (all []string) {
	each(q["contents"], func(c object) {
		each(c["parts"], func(p object) {
			if r, ok := p["functionResponse"].(object); ok {
				all = append(all, text(r["response"]))
			}
		})
	})
	return all
}

func (f gemini) say(w *writer, text string) { f.send(w, object{"text": text}) }

func (f gemini) call(w *writer, t tool, args object) {
	f.send(w, object{"functionCall": object{"name": t.name, "args": args}})
}

func (gemini) send(w *writer, part object) {
	answer := object{
		"candidates":    list{object{"index": 0, "content": object{"role": "model", "parts": list{part}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
	}
	if w.stream {
		w.event("", answer)
		return
	}
	w.whole(answer)
}
