package wire_test

import (
	"context"
	"fmt"
	"net"

	"floe/transport/wire"
)

func Example() {
	port, err := wire.Listen(wire.Config{Bind: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer port.Shutdown(ctx)
	port.Serve(func(_ context.Context, _ net.Addr, method string, body []byte) ([]byte, error) {
		return fmt.Appendf(nil, "%s: %s", method, body), nil
	})

	client := wire.NewClient(wire.Options{})
	defer client.Close()
	reply, err := client.Call(ctx, port.Advertised(), "echo", []byte("hello"))
	fmt.Println(string(reply), err)
	// Output: echo: hello <nil>
}
