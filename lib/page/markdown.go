package page

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/substrate-tools/substrate/lib/record"
)

// markdown renders entries. What is changed in what the library makes of them: raw
// HTML is shown and not obeyed, links lead to web pages and mail only, a picture
// becomes a link, since it would tell its server who reads, and headings stay below
// the page's own.
var markdown = goldmark.New(
	goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), // no style: see csp
		extension.Strikethrough, extension.Linkify, extension.TaskList,
	),
	goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(tame{}, 1000))),
	goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(plainly{}, 100))),
)

// tame changes the tree of an entry.
type tame struct{}

var rel = []byte("noopener noreferrer nofollow")

// deepest is the level of heading that pages use themselves.
const deepest = 3

func (tame) Transform(doc *ast.Document, source text.Reader, _ parser.Context) {
	var pictures []*ast.Image
	var strange []*ast.AutoLink
	ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			if entering {
				n.Level = min(6, n.Level+deepest)
			}
		case *ast.Link:
			n.Destination = harmless(n.Destination)
			n.SetAttributeString("rel", rel)
		case *ast.AutoLink:
			n.SetAttributeString("rel", rel)
			if entering && n.AutoLinkType == ast.AutoLinkURL && harmless(n.URL(source.Source())) == nil {
				strange = append(strange, n)
			}
		case *east.Table:
			n.SetAttributeString("tabindex", []byte("0")) // it scrolls, also for a keyboard
		case *ast.Image:
			if entering {
				pictures = append(pictures, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, picture := range pictures {
		shown := ast.NewLink()
		shown.Destination, shown.Title = harmless(picture.Destination), picture.Title
		shown.SetAttributeString("rel", rel)
		shown.AppendChild(shown, ast.NewString([]byte("picture: ")))
		for c := picture.FirstChild(); c != nil; c = picture.FirstChild() {
			shown.AppendChild(shown, c)
		}
		if shown.ChildCount() == 1 {
			shown.AppendChild(shown, ast.NewString(picture.Destination))
		}
		picture.Parent().ReplaceChild(picture.Parent(), picture, shown)
	}
	for _, link := range strange {
		link.Parent().ReplaceChild(link.Parent(), link, ast.NewString(link.Label(source.Source())))
	}
	flatten(doc, source.Source())
}

// flatten leaves of a link within a link, as pictures may have been, the text alone.
func flatten(doc ast.Node, source []byte) {
	var inner []ast.Node
	ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && (n.Kind() == ast.KindLink || n.Kind() == ast.KindAutoLink) && linked(n) {
			inner = append(inner, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range inner {
		if link, ok := n.(*ast.AutoLink); ok {
			n.Parent().ReplaceChild(n.Parent(), n, ast.NewString(link.Label(source)))
			continue
		}
		for c := n.FirstChild(); c != nil; c = n.FirstChild() {
			n.Parent().InsertBefore(n.Parent(), n, c)
		}
		n.Parent().RemoveChild(n.Parent(), n)
	}
}

// linked reports whether a piece of text is part of a link already.
func linked(n ast.Node) bool {
	for n = n.Parent(); n != nil; n = n.Parent() {
		if n.Kind() == ast.KindLink {
			return true
		}
	}
	return false
}

// harmless returns an address that leads to another page, or to who reads mail at
// it, and nil for any other: the library lets through all schemes but a few.
func harmless(address []byte) []byte {
	plain := util.URLEscape(address, true) // as it will stand in the page
	if i := bytes.IndexAny(plain, ":/?#"); i >= 0 && plain[i] == ':' {
		switch strings.ToLower(string(plain[:i])) {
		case "http", "https", "mailto":
		default:
			return nil
		}
	}
	return address
}

// plainly shows as text what the library would leave out or make a control of: a
// reader is to see all that was written, and boxes of task lists are nobody's to tick.
type plainly struct{}

func (plainly) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(east.KindTaskCheckBox, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if box := "[ ] "; entering {
			if n.(*east.TaskCheckBox).IsChecked {
				box = "[x] "
			}
			w.WriteString(box)
		}
		return ast.WalkContinue, nil
	})
	reg.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			w.Write(util.EscapeHTML(n.(*ast.RawHTML).Segments.Value(source)))
		}
		return ast.WalkSkipChildren, nil
	})
	reg.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if n := node.(*ast.HTMLBlock); entering {
			w.WriteString("<pre>")
			w.Write(util.EscapeHTML(n.Lines().Value(source)))
			if n.HasClosure() {
				w.Write(util.EscapeHTML(n.ClosureLine.Value(source)))
			}
			w.WriteString("</pre>\n")
		}
		return ast.WalkContinue, nil
	})
}

// Markdown of a length or density that takes the library long, or makes it write
// very much, is shown as it is: what one participant writes is to cost the others
// nothing.
const (
	maxMarkdown = 64 << 10 // bytes
	maxMarks    = 4096     // characters that mean something in Markdown
	maxCells    = 100_000  // lines by bars in a line: a short row of a table is filled up
)

// simple reports whether a text is none of those.
func simple(body string) bool {
	lines, bars := 0, 0
	for line := range strings.Lines(body) {
		lines++
		bars = max(bars, strings.Count(line, "|"))
	}
	marks := 0
	for _, c := range []byte(body) {
		if strings.IndexByte("*_~`[]<>|", c) >= 0 {
			marks++
		}
	}
	return len(body) <= maxMarkdown && marks <= maxMarks && lines*bars <= maxCells
}

// render returns an entry's text as HTML. Control characters are shown, as
// everywhere.
func render(body string) (page template.HTML) {
	body = inert(body)
	page = template.HTML("<pre>" + template.HTMLEscapeString(body) + "</pre>")
	if !simple(body) {
		return page
	}
	// A text that the library stumbles over must not keep the room from everybody.
	defer func() { _ = recover() }()
	var b bytes.Buffer
	if markdown.Convert([]byte(body), &b) == nil {
		page = template.HTML(b.String())
	}
	return page
}

// inert shows the control characters of a text, but for its line ends and tabs.
func inert(s string) string {
	var b bytes.Buffer
	for _, c := range s {
		if c == '\n' || c == '\t' || c == '\r' {
			b.WriteRune(c)
			continue
		}
		b.WriteString(record.OneLine(string(c)))
	}
	return b.String()
}
