"""What happens to memories over time: revise, forget, queue, reflect."""
