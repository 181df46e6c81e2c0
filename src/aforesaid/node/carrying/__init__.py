"""Frames to named peers: over datagrams and streams, sealed or in the clear, and where peers are found."""
