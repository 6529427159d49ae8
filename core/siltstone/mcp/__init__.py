"""The memory for assistants that speak the Model Context Protocol: an edge."""
