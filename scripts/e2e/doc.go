// Package e2e proves floe from outside: nodes are processes (scripts/floetest), their clients are stock Ice programs
// (scripts/peers). Nothing sleeps and nothing is tried again: waits look for a condition, with a deadline, and show what
// they saw last. Where a test fails, the logs of its nodes and Ice programs are shown.
//
// FLOE_TEST_BINARY=/path/of/floe runs the tests with a program built otherwise, with -race for one.
//
// # Where the cases are tested
//
// The cases are those of public bug reports that this package's part of floe touches. "Unit" is where the same is tested
// on one package alone.
//
//	case  here                                              unit
//	G01   TestEventCrossesOneLinkOnThreeNodes               topics, transport/delivery
//	G03   TestDiamondGivesOneCopy                           topics
//	G05   TestCostTextsThatAreNoCleanNumbers                topics (TestParseCost)
//	G07   TestNegativeCostOutlivesRestartAndSnapshot        fsm
//	G08   TestStopAfterAllEventsWereTooCostly
//	G10   TestDestroyRacesWithSubscribeAndLink              transport/ice, topics
//	G12   TestLinkToATopicWithoutALinkProxyIsRefused        transport/ice
//	G13   TestLinksWithARealIceStormOutliveRestarts         transport/ice/client
//	A01   TestTopicsNamedLikeCommandWords                   transport/http/script
//	A03   TestCommandsGiveUpOnSilentHosts                   transport/http/client
//	A04   TestReplicaCommandOfTheStockTool                  transport/ice
//	A06   TestSeparatorsAndCommentsInScripts                transport/ice, transport/http/script
//	A07   TestCreateOfNamesThatAreThere                     transport/ice
//	A09   TestPipesGetDataOnly                              cmd/node
//	A10   TestSubscribersAndLinksAreToldApart               transport/ice
//	A11                                                     scripts/ops
//	W01   TestOddRetryCountsBlockNothing                    transport/ice
//	W03   TestSubscriberThatMoves                           transport/ice
//	W05   TestFinderOnEveryNode                             transport/ice
//	W07   TestEveryKindOfSubscriberGetsAll                  transport/ice/client (TestBatchIsCoalesced)
//	W08   TestSubscriberWithoutItsObjectIsRemoved           transport/ice/client
//	W10   TestBacklogOfASubscriberThatComesBack             transport/ice/client, transport/delivery
//	W11   TestEveryKindOfSubscriberGetsAll                  transport/ice
//	W12   TestSubscriberFedByItsOwnPublisherIsRemoved
//	W14   TestTenThousandTopicsOnThreeNodes                 transport/ice
//	S01   TestStoppedSubscriberCostsBoundedMemory           transport/delivery
//	S03   TestQueuePolicies                                 transport/delivery
//	X01                                                     scripts/ops (TestStaleNodeComesBackFirst)
//	X03   TestWholeGraphIsBackAfterAKill                    fsm
//	X04   TestNodeThatMissedASubscribersMove
//	X06   TestSubscribeWithoutQuorum                        cluster
//	X07                                                     scripts/ops
//	X09   TestDestroyRacesWithSubscribeAndLink              transport/ice, topics
//	X10   TestSubscribeWithoutQuorum                        transport/ice
//	X12   TestStopWithSubscribersAtSilentHosts
//	X13                                                     scripts/ops (TestInterfaceGoesDown)
//	E12   TestLinkBetweenClustersWhileConnectionsAreCut, TestLinkToAnotherClusterFollowsItsNodes
//	C..                                                     scripts/ops; C17 cluster (TestNonVoterNeverStands)
//
// Beside them: the manual's federation over kills and moves (manual_test.go), a real IceStorm and IceGrid registry
// (icestorm_test.go, locator_test.go), links between clusters (clusters_test.go), failover (failover_test.go), clean stops
// and drain (stop_test.go), native programs (native_test.go).
package e2e
