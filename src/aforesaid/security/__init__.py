"""Who may speak: keys and certificates, TLS for streams, seals for datagrams (docs/security.md)."""
