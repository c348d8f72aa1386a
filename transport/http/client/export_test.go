package client

// SetLimits changes what a client takes, in bytes: of an answer, and in one line of a stream. It returns what
// that was.
func (c *Client) SetLimits(answer, line int) (wasAnswer, wasLine int) {
	wasAnswer, wasLine = c.answerLimit, c.lineLimit
	c.answerLimit, c.lineLimit = answer, line
	return wasAnswer, wasLine
}
