package testport

import "net"

// Connect returns both ends of a connection to a listener, which it closes. The caller closes the ends.
func Connect(l net.Listener) (client, server net.Conn, err error) {
	defer l.Close()
	if client, err = net.Dial(l.Addr().Network(), l.Addr().String()); err != nil {
		return nil, nil, err
	}
	if server, err = l.Accept(); err != nil {
		client.Close()
		return nil, nil, err
	}
	return client, server, nil
}
