"""What the black-box tests stand on: an upstream, a gate, a client, an nginx, certificates."""
