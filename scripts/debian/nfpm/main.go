// Command nfpm makes the Debian package that nfpm.yaml beside it describes. It is a module of its own: nfpm is no part of
// floe, and its own command would also need the makers of all other kinds of packages.
package main

import (
	"fmt"
	"os"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "nfpm: the one argument is the package to write")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "nfpm:", err)
		os.Exit(1)
	}
}

// write makes the package from nfpm.yaml in the working directory; its variables are those of the environment.
func write(path string) error {
	config, err := nfpm.ParseFile("nfpm.yaml")
	if err != nil {
		return err
	}
	info, err := config.Get("deb")
	if err != nil {
		return err
	}
	if info = nfpm.WithDefaults(info); nfpm.Validate(info) != nil {
		return nfpm.Validate(info)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := deb.Default.Package(info, f); err != nil {
		return err
	}
	return f.Close()
}
