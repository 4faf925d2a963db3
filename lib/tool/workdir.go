package tool

// Workdir defines --body, the directory of the agent that a program acts in or for.
// What it means is the business of body.Find.
func (c *Call) Workdir() *string {
	c.share("--body DIR", "the agent's directory (default: the nearest one upward from here)")
	return c.Flags.String("body", "", "")
}
