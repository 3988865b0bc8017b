"""What an epoch deals out beside training nodes, one file a kind."""
