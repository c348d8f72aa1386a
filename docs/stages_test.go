package docs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"floe/scripts/peers"
)

// stage is what a page takes for granted.
type stage struct {
	// serve starts what others run, and tells where it is.
	serve func(*testing.T, *reader)
	// first is typed before the page's first block, and before what comes before the block whose first line begins so.
	first  string
	before map[string]string
	// instead are words of the page that are different for every reader, each followed by what is typed.
	instead []string
}

// beforeBlock is what is typed before the block whose first line is, or begins with, one of those of the stage.
func (s *stage) beforeBlock(line string) string {
	for begin, commands := range s.before {
		if strings.HasPrefix(line, begin) {
			return commands
		}
	}
	return ""
}

const three = `floe start --id n1 --bind 127.0.0.2 --data n1 --join 127.0.0.2:7400,127.0.0.3:7400,127.0.0.4:7400 --bootstrap-expect 3
floe start --id n2 --bind 127.0.0.3 --data n2 --join 127.0.0.2:7400,127.0.0.3:7400,127.0.0.4:7400 --bootstrap-expect 3
floe start --id n3 --bind 127.0.0.4 --data n3 --join 127.0.0.2:7400,127.0.0.3:7400,127.0.0.4:7400 --bootstrap-expect 3
export FLOE_ADDR=127.0.0.2:7480,127.0.0.3:7480,127.0.0.4:7480
`

// table makes files with routes, and graph.txt.
const table = `printf 'newrt|start\nmse|1000|-1|10.0.1.1:4560,10.0.1.2:4560;10.0.1.3:4560\nmse|1001,10.0.3.1:4560|7|10.0.1.4:4560\nmse|1002|-1|%%meid\nmse|12040|-1|%%meid\nmse|12050|7|10.0.1.1:4560\nnewrt|end|5\nmeid_map|start\nmme_ar|10.0.2.1:38000|gnb_001_001_0000019b gnb_001_001_0000019c\nmeid_map|end|1\n' > routes.txt
sed 's/mse|1000|-1|[^,]*,/mse|1000|-1|/' routes.txt > changed.txt
printf 'create C D\nlink C D 5\n' > graph.txt
`

const (
	elsewhere = `floe status | grep -q '^leader  *n1 in' || floe transfer n1` // for the leader may be n2
	version   = `--if-version $(floe routes load --json routes.txt | grep -o '"version": *[0-9]*' | tr -dc 0-9)`
	unused    = `$(floe keys list | awk '/^[0-9a-f]/ && NF == 2 {print $1}')` // the secret that no node sends with
)

var stages = map[string]stage{
	"README.md":       {first: table},
	"docs/cluster.md": {before: map[string]string{"floe transfer n2": elsewhere}},
	"docs/icestorm.md": {
		serve: func(t *testing.T, r *reader) {
			registry := peers.IceGridRegistry(t)
			storm := peers.IceStorm(t, "--instance", "Other")
			r.served = append(r.served, "IceGrid/Locator:tcp -h 127.0.0.1 -p 4061", registry.Locator, "Other/TopicManager:tcp -h 127.0.0.1 -p 11000", storm.Manager)
		},
		first: three + "floe start --id west --bind 127.0.0.7 --data west\nfloe create News --addr 127.0.0.7:7480\n" +
			"floe cert ca --dir certs --cluster demo\nfloe cert node --dir certs --id s1 --host 127.0.0.9\ncat certs/s1.crt certs/ca.crt > cert.pem\ncp certs/s1.key key.pem\n",
	},
	"docs/movein.md": {
		serve: func(t *testing.T, r *reader) {
			dir := filepath.Join(r.dir, "var/lib/icestorm")
			storm := peers.IceStorm(t, "--dir", dir, "--instance", "Weather")
			if _, said, exit := peers.Admin(t, storm.Manager, "create Rain Wind", "link Rain Wind 5"); exit != 0 {
				t.Fatal(said)
			}
			storm.Stop()
		},
		first: `mv var/lib/icestorm/0 var/lib/icestorm/db
icestormdb --export saved.export --dbpath var/lib/icestorm/db
mkdir etc
printf 'IceBox.Service.IceStorm=IceStormService,37:createIceStorm\nIceStorm.InstanceName=Weather\nIceStorm.TopicManager.Endpoints=tcp -p 11000\nIceStorm.Publish.Endpoints=tcp -p 11001\nIceStorm.LMDB.Path=/var/lib/icestorm/db\n' > etc/icestorm.config
`,
	},
	"docs/oldmanager.md": {first: `printf 'PlatformComponents:\n- {name: SUBMAN, fqdn: submgr, port: 4560}\nPlatformRoutes:\n- {messagetype: RIC_SUB_RESP, subscriptionid: -1, endpoint: SUBMAN}\n' > rtmgr-config.yaml
`},
	"docs/recover.md": {
		first:  "floe start --id n1 --bind 127.0.0.2 --data n1\nexport FLOE_ADDR=127.0.0.2:7480\nfloe create A B\nfloe link A B\n",
		before: map[string]string{"floe recover --data n1 --members n1=127.0.0.2:7400": "stop n1"},
	},
	"docs/commands.md": {
		first: table + `head -c 32 /dev/urandom | base64 > secret
cp secret new-secret
export FLOE_GOSSIP_KEY_FILE=secret
floe start --id n1
floe start --id n2 --bind 127.0.0.2 --data n2 --join 127.0.0.1:7400
floe start --id n3 --bind 10.0.0.3 --data n3 --join 127.0.0.1:7400
floe start --id far --bind 10.0.0.1 --data far
floe create A --addr 10.0.0.1:7480
floe start --id east --bind 10.1.0.1 --data east
`,
		before: map[string]string{
			"floe destroy A":                                  "floe create A B",
			"floe join 10.0.0.1:7400":                         "floe start --id j1 --bind 10.0.0.9 --data j1\nexport FLOE_ADDR=10.0.0.9:7480",
			"floe keys add new-secret":                        "export FLOE_ADDR=127.0.0.1:7480\nhead -c 32 /dev/urandom | base64 > new-secret",
			"floe keys use 5a0c19e4":                          "floe keys add new-secret",
			"floe link A B 5":                                 "floe create A B",
			"floe meid owner gnb_001":                         "floe meid set 10.0.2.1:38000 gnb_001_001_0000019b",
			"floe remove n3":                                  "floe start --id n3 --bind 10.0.0.3 --data n3\nfloe join 127.0.0.1:7400 --addr 10.0.0.3:7480",
			"floe restore floe-2026-11-30.backup":             "mv floe-20*.backup kept\nmv kept floe-2026-11-30.backup\nfloe start --id fresh --bind 10.0.0.8 --data fresh\nexport FLOE_ADDR=10.0.0.8:7480",
			"floe revert --to 1200 --diff":                    "export FLOE_ADDR=127.0.0.1:7480",
			"floe send --mtype 1000 --to 10.0.1.1:4560 hello": "floe recv --listen 10.0.2.1:38000 --reply ok",
			"floe transfer n2":                                elsewhere,
			"floe token join --ttl 10m":                       "export FLOE_TOKEN_FILE=root.token",
		},
		instead: []string{"--listen :4560", "--listen 10.0.1.1:4560", "--to 1200", `--to $(floe history --limit 2 | head -n 1 | cut -d' ' -f1)`, "--from 1200", "--from 1", "10.1.0.1:7400,10.1.0.2:7400", "10.1.0.1:7400",
			"--if-version 17", version, "keys use 5a0c19e4", "keys use " + unused, "keys remove 81f3b6aa", "keys remove " + unused, "--interval 10s", "--interval 1s"},
	},
	"docs/secure.md": {
		first: "floe cert ca --dir east --cluster east\n",
		before: map[string]string{
			"floe start --id w1 --bind 10.0.0.1": "cp east/ca.crt east-ca.crt\nfloe cert node --dir certs --id w1 --host 10.0.0.1",
			"TOKEN=$(floe token join --ttl 10m --token-file root.token)": "floe cert node --dir certs --id n3 --host 10.0.0.3\n" +
				"floe start --id n1 --bind 10.0.0.1 --tls-ca certs/ca.crt --tls-cert certs/n1.crt --tls-key certs/n1.key --gossip-key-file secret --allow-from 10.0.0.0/24\nexport FLOE_TLS_CA=certs/ca.crt FLOE_TOKEN_FILE=root.token",
		},
		instead: []string{"keys use 5a0c19e4", "keys use " + unused, "keys remove 81f3b6aa", "keys remove " + unused},
	},
	"docs/routemanager.md": {first: table},
	"docs/routes.md": {
		first:   table + "floe start\nfloe create A\necho > request.bin\n",
		instead: []string{"--if-version 17", version, "--listen :4560", "--listen 10.0.1.1:4560"},
	},
	"docs/watch.md": {
		first:   three + "floe create A B C\nfloe link A B 5\nfloe link A C 2\n",
		instead: []string{"127.0.0.1:7480", "127.0.0.2:7480", "--to 19", `--to $(floe history --limit 1 | cut -d' ' -f1)`, "from=19", "from=1", "--from 1200", "--from 1"},
	},
}
