package socket

// IsSilent is [Conn.Silent] of what the system says.
var IsSilent = isSilent
