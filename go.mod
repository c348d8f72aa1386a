module floe

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1 // tests: judges recorded histories for linearizability
	github.com/google/go-cmp v0.7.0 // tests: differences in words
	github.com/hashicorp/go-hclog v1.6.3 // the log; raft and memberlist take it, too
	github.com/hashicorp/go-immutable-radix/v2 v2.1.0 // the state as an immutable tree that readers share
	github.com/hashicorp/go-msgpack/v2 v2.1.5 // commands and snapshots in canonical form; raft has it anyway
	github.com/hashicorp/memberlist v0.7.0 // gossip: who lives, and where
	github.com/hashicorp/raft v1.8.0 // consensus

	// Raft's log on bbolt. Stay at v2.3.0 and never run `go get -u`: v2.3.1 imports the package
	// compat of go-metrics, which go-metrics v0.7.0 dropped, and raft v1.8.0 and memberlist v0.7.0
	// need that one. Together they don't build.
	github.com/hashicorp/raft-boltdb/v2 v2.3.0
	github.com/mattn/go-isatty v0.0.14 // tells a terminal from /dev/null; go-hclog has it anyway
	github.com/pelletier/go-toml/v2 v2.4.3 // the file --config names
	github.com/peterh/liner v1.2.3 // the shell: history and completion
	github.com/prometheus/client_golang v1.25.0 // /metrics
	github.com/prometheus/client_model v0.6.3 // tests: reads metrics back
	github.com/prometheus/common v0.72.0 // tests: reads metrics back
	github.com/rogpeppe/go-internal v1.16.0 // tests: testscript, command line sessions as files
	github.com/spf13/cobra v1.10.2 // subcommands, help and completion
	github.com/spf13/pflag v1.0.10 // cobra's flags, whose values floe checks itself
	go.etcd.io/bbolt v1.5.0 // the database of the log: its check and its figures
	go.uber.org/goleak v1.3.0 // tests: no goroutine is left behind
	go.yaml.in/yaml/v3 v3.0.5 // the file of the old route manager is YAML; the maintained reader of it, without dependencies
	golang.org/x/sys v0.48.0 // system calls: direct writes to sockets, network namespaces for failure runs
	pgregory.net/rapid v1.3.0 // tests: models with random operations
)

require (
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/armon/go-metrics v0.4.1 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/boltdb/bolt v1.3.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/fatih/color v1.13.0 // indirect
	github.com/google/btree v1.1.3 // indirect
	github.com/hashicorp/errwrap v1.1.0 // indirect
	github.com/hashicorp/go-immutable-radix v1.3.1 // indirect
	github.com/hashicorp/go-metrics v0.7.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/hashicorp/go-sockaddr v1.0.7 // indirect
	github.com/hashicorp/golang-lru v1.0.2 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/mattn/go-colorable v0.1.12 // indirect
	github.com/mattn/go-runewidth v0.0.31 // indirect
	github.com/miekg/dns v1.1.73 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/sean-/seed v0.0.0-20170313163322-e2103e2c3529 // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	honnef.co/go/tools v0.8.2 // indirect
)

tool (
	golang.org/x/perf/cmd/benchstat
	honnef.co/go/tools/cmd/staticcheck
)
