// Package script reads the command language of icestormadmin 3.7, in which
// graph scripts are written and the shell floe admin is operated.
//
// A command is a list of words and ends with a newline or a semicolon. A word
// is bare, up to white space or a semicolon; in double quotes, where \" and \\
// stand for the second character; or in single quotes, where nothing is
// special. Quoted words may span lines and semicolons. A backslash at the end
// of a line continues the command on the next. /* */ and // are comments; a
// // comment takes its newline with it, so that the next line belongs to the
// same command. # is no comment.
package script
