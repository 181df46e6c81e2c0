"""What an operator holds: logs, a control socket, reasons, JSON lines, a directory and its incarnations."""
