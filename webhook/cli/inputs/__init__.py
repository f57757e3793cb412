"""What the commands read: manifests, fleets, policy files. The only place of the command line that opens files."""
