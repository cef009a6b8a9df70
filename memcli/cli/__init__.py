"""The command line: a thin caller of Memory."""
