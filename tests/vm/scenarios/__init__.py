"""One file per scenario; the file's name is `s` and the scenario's number."""
