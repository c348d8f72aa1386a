// Package icestorm reads what a real IceStorm holds, so that floe can take it
// over: its database, as icestormdb --export writes it ([ParseExport]), what a
// running service answers ([Ask]), and its properties file
// ([ParseProperties]).
package icestorm
