package logstore

import (
	"path/filepath"
)

// witnessFile is the name of the record of other nodes in the data directory.
const witnessFile = "witness.json"

// Sight is what a node knows for certain of another one. None of the numbers
// ever falls for a node that has all its data.
type Sight struct {
	// Incarnation is the one that the rest is about.
	Incarnation uint64 `json:"incarnation"`
	// Index is a log index that was committed and that the node had.
	Index uint64 `json:"index"`
	// VoteTerm is a term that the node voted in, 0 for none.
	VoteTerm uint64 `json:"vote_term"`
}

// Witness is what a node noted of the others, so that it can testify when one
// comes back with an older copy of its data. It lives in witness.json of the
// data directory. To lose it is no harm to the node itself.
type Witness struct {
	// ClusterID is the cluster it is about.
	ClusterID string `json:"cluster_id"`
	// Nodes are the others by id.
	Nodes map[string]Sight `json:"nodes"`
	// Checksum is filled in by WriteWitness.
	Checksum string `json:"checksum"`
}

func (w *Witness) sum() *string { return &w.Checksum }

// ReadWitness reads witness.json of dir. Where there is none the error is
// fs.ErrNotExist; a damaged one is a *CorruptError.
func ReadWitness(dir string) (Witness, error) {
	path := filepath.Join(dir, witnessFile)
	b, err := readSmall(path)
	if err != nil {
		return Witness{}, err
	}
	var w Witness
	if err := decodeSealed(b, &w); err != nil {
		return Witness{}, &CorruptError{File: path, Err: err}
	}
	return w, nil
}

// WriteWitness replaces witness.json of dir, atomically and synced.
func WriteWitness(dir string, w Witness) error {
	b, err := encodeSealed(&w)
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(dir, witnessFile), b)
}
