package main

import (
	"context"
)

func clusterCommand(ctx context.Context, args []string) error { return nil }

func faultCommand(args []string) error { return nil }
