package proto

import "strconv"

// Version is a protocol or encoding version.
type Version struct {
	Major, Minor byte
}

var (
	// Protocol10 is the only version of the protocol there is.
	Protocol10 = Version{1, 0}
	// Encoding10 is the encoding of message headers and of old clients.
	Encoding10 = Version{1, 0}
	// Encoding11 is the encoding Ice 3.5 and later use for parameters.
	Encoding11 = Version{1, 1}
)

// String returns the version as "major.minor".
func (v Version) String() string {
	return strconv.Itoa(int(v.Major)) + "." + strconv.Itoa(int(v.Minor))
}

// supported says whether v is an encoding this package can decode.
func (v Version) supported() bool {
	return v.Major == 1 && v.Minor <= 1
}
