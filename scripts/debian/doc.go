// Package debian holds what scripts/package puts into the Debian package beside the program (the systemd unit, the
// settings, the scripts of the package), and the test that installs it in a container that boots systemd.
package debian
