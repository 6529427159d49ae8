"""Search, ranking and the context that reaches the model."""
