package icestorm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxProperties is the largest properties file, in bytes.
const maxProperties = 1 << 20

// Properties are what a properties file of IceBox or of an IceStorm service
// says.
type Properties struct {
	// Service is the name before the service's own properties, IceStorm
	// unless the file says otherwise.
	Service string
	// Elsewhere is the file that holds the service's own properties, where
	// this one names another for them.
	Elsewhere string
	values    map[string]string
}

// ParseProperties reads a properties file in Ice's form: NAME=VALUE lines, #
// begins a comment, a backslash takes the meaning from #, =, blanks and
// itself. A later line counts more. Properties that the entry
// IceBox.Service.NAME hands to the service count as well.
func ParseProperties(text []byte) (Properties, error) {
	if len(text) > maxProperties {
		return Properties{}, fmt.Errorf("it has %d bytes, at most %d", len(text), maxProperties)
	}
	if !utf8.Valid(text) {
		return Properties{}, fmt.Errorf("it is no UTF-8 text")
	}
	p := Properties{values: map[string]string{}}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		number++
		name, value, err := parseLine(strings.TrimRight(line, "\r\n"))
		if err != nil {
			return Properties{}, fmt.Errorf("line %d: %w", number, err)
		}
		if name != "" {
			p.values[name] = value
		}
	}
	p.findService()
	return p, nil
}

// parseLine reads one line, "" for one without a property.
func parseLine(line string) (name, value string, err error) {
	var parts [2]strings.Builder
	part, kept := 0, [2]int{} // bytes of each part that are no blanks at its end
	for i := 0; i < len(line); i++ {
		b := line[i]
		escaped := b == '\\' && i+1 < len(line) && strings.IndexByte("\\#= \t", line[i+1]) >= 0
		switch {
		case escaped:
			i++
			b = line[i]
		case b == '#':
			i = len(line)
			continue
		case b == '=' && part == 0:
			part = 1
			continue
		case b == ' ' || b == '\t':
			if parts[part].Len() > 0 {
				parts[part].WriteByte(b)
			}
			continue
		}
		parts[part].WriteByte(b)
		kept[part] = parts[part].Len()
	}
	name, value = parts[0].String()[:kept[0]], parts[1].String()[:kept[1]]
	if name == "" && part == 1 {
		return "", "", fmt.Errorf("there is no name before the =")
	}
	return name, value, nil
}

const serviceEntry, creates = "IceBox.Service.", ":createIceStorm"

// findService finds the name of the service, and what its entry hands to it.
func (p *Properties) findService() {
	p.Service = "IceStorm"
	for _, name := range p.names() {
		if service, ok := strings.CutSuffix(name, ".TopicManager.Endpoints"); ok && !strings.Contains(service, ".") {
			p.Service = service
			break
		}
	}
	for _, name := range p.names() {
		service, ok := strings.CutPrefix(name, serviceEntry)
		entry := strings.Fields(p.values[name])
		if !ok || len(entry) == 0 || !strings.HasSuffix(entry[0], creates) {
			continue
		}
		p.Service = service
		for _, arg := range entry[1:] {
			if key, value, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "="); ok && strings.HasPrefix(arg, "--") {
				p.hand(key, value)
			}
		}
		return
	}
}

func (p *Properties) hand(key, value string) {
	if key == "Ice.Config" {
		p.Elsewhere = value
		return
	}
	p.values[key] = value
}

func (p *Properties) names() []string { return slices.Sorted(maps.Keys(p.values)) }

// Own returns the names of the service's own properties, without the
// service's name, sorted.
func (p *Properties) Own() []string {
	var own []string
	for _, name := range p.names() {
		if rest, ok := strings.CutPrefix(name, p.Service+"."); ok && rest != "" {
			own = append(own, rest)
		}
	}
	return own
}

// Get returns one of the service's own properties, "" where it is not set: as
// in Ice, an empty one is as good as none.
func (p *Properties) Get(name string) string { return p.values[p.Service+"."+name] }

// Global returns a property by its whole name, "" where it is not set.
func (p *Properties) Global(name string) string { return p.values[name] }

// Instance returns the category of the service's identities.
func (p *Properties) Instance() string {
	if name := p.Get("InstanceName"); name != "" {
		return name
	}
	return "IceStorm"
}
