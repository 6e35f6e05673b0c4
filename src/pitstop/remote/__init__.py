"""A run's mirror at a URL: kept up to date beside the training, and brought back elsewhere."""
