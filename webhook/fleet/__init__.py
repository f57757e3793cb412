"""What is known of the cluster: immutable indexes over slices, classes, nodes, claims, pods. No I/O."""
