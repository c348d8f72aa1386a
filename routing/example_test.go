package routing_test

import (
	"fmt"
	"os"

	"floe/routing"
)

func Example() {
	text := "newrt|start\n" +
		"mse|12010|-1|%meid\n" +
		"mse|12050|77|app1:4560,app2:4560;logger:4560\n" +
		"newrt|end|2\n" +
		"meid_map|start\n" +
		"mme_ar|e2term:38000|gnb_1 gnb_2\n" +
		"meid_map|end|1\n"
	parsed := routing.Parse(text, routing.Options{})
	if err := parsed.Err(); err != nil {
		fmt.Println(err)
		return
	}
	state, changes, err := routing.State{}.Apply(parsed.Update)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(changes.Routes), "routes and", len(changes.MEIDs), "MEIDs changed")

	entry := state.Table.Lookup(12050, 77, routing.Sender{Source: "app0:4560"})
	var chooser routing.Chooser
	for range 3 {
		member, _ := chooser.Pick(entry, 0, nil)
		fmt.Println(member)
	}
	owner, _ := state.MEIDs.Owner("gnb_2")
	fmt.Println(owner)

	delta := (&routing.Encoder{ID: "v7"}).Delta(state, routing.Changes{MEIDs: []string{"gnb_2", "gnb_3"}})
	os.Stdout.Write(delta[0])
	// Output:
	// 2 routes and 2 MEIDs changed
	// app1:4560
	// app2:4560
	// app1:4560
	// e2term:38000
	// meid_map|start|v7
	// mme_del|gnb_3
	// mme_ar|e2term:38000|gnb_2
	// meid_map|end|2
}
